package verification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/nodestate"
	"airgap.dev/airgap/verify/result"
)

// Probes are the probes of airgap verify, without their Ask functions.
func Probes() []verify.Probe { return []verify.Probe{RegistriesProbe(), OwedProbe()} }

// OwedProbe is the probe without its record.
func OwedProbe() verify.Probe {
	return verify.Probe{ID: "owed-hosts", Title: "No host was left out of an installation, an upgrade or a rollback", Stays: true}
}

// debts are the hosts that commands left out, and the absent ones that should be back.
type debts struct {
	site  *site.Site                                 // nil: the cluster of another host
	known func(context.Context) ([]owed.Debt, error) // in the cluster and on this host
	list  func(context.Context) ([]corev1.Node, error)

	mu    sync.Mutex
	nodes []corev1.Node
	asked time.Time
	all   []owed.Debt // of the last complete answer
	told  time.Time
}

// listEvery is how often the nodes are listed. Only a cluster with debts is asked.
const listEvery = time.Minute

func (o Options) debts(s *site.Site) *debts {
	return &debts{site: s, known: o.knownDebts, list: func(ctx context.Context) ([]corev1.Node, error) {
		client, err := ClusterClient(o.Kubeconfig)
		if err != nil {
			return nil, err
		}
		all, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return nil, err
		}
		return all.Items, nil
	}}
}

// knownDebts returns the debts in the cluster, with the changes that only this host has.
func (o Options) knownDebts(ctx context.Context) ([]owed.Debt, error) {
	client, err := ClusterClient(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return owed.Record.Known(ctx, client)
}

// probe asks for the debts.
func (d *debts) probe() verify.Probe {
	p := OwedProbe()
	p.Ask = func(ctx context.Context) []result.Finding { return d.findings(ctx, time.Now()) }
	return p
}

func (d *debts) findings(ctx context.Context, now time.Time) []result.Finding {
	if d.site == nil {
		return nil
	}
	var found []result.Finding
	all, err := d.debtsAt(ctx, now)
	if err != nil {
		fix := "delete the file and run the last command again"
		if errors.Is(err, owed.ErrCannotTell) {
			fix = "find out why the API server does not answer, or why it refuses the kubeconfig's user: kubectl -n kube-system get configmap " + owed.SharedName
		}
		found = append(found, result.Finding{Object: "Host " + d.site.Node.Name, Saw: err.Error(), Want: "a record of the hosts that were left out", Fix: fix})
	}
	late := overdue(d.site, now)
	if len(all)+len(late) == 0 {
		return found
	}
	nodes := d.nodesAt(ctx, now)
	for _, debt := range owed.Open(all, d.site, nodes) {
		found = append(found, result.Finding{
			Object: "Node " + debt.Node, Saw: "owed since " + debt.Since.Format(time.DateOnly) + ": " + debt.Why, Want: "the changes of the last " + debt.Again(), Since: debt.Since,
			Fix: debt.Again() + " picks it up; if its host is gone: airgap remove " + debt.Node + " --force",
		})
	}
	for _, n := range late {
		if !isReady(nodes, n.Name) {
			found = append(found, result.Finding{
				Object: "Node " + n.Name, Saw: fmt.Sprintf("absent (%s), and this date is past", n.Absent), Want: "a node that is Ready, or a later date",
				Fix: "remove nodes[].absent from airgap.yaml if the server is there, set a later date, or run airgap remove " + n.Name,
			})
		}
	}
	return found
}

// tellsFor is how long an answer counts while the API server does not answer.
const tellsFor = 5 * time.Minute

// debtsAt returns the debts. An error is about those that it does not return.
func (d *debts) debtsAt(ctx context.Context, now time.Time) ([]owed.Debt, error) {
	all, err := d.known(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.all, d.told = all, now
	} else if errors.Is(err, owed.ErrCannotTell) && now.Sub(d.told) < tellsFor {
		return d.all, nil
	}
	return all, err
}

// nodesAt returns the nodes of the last minute. Without an answer, all debts count as open.
func (d *debts) nodesAt(ctx context.Context, now time.Time) []corev1.Node {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.asked) >= listEvery {
		if nodes, err := d.list(ctx); err == nil {
			d.nodes, d.asked = nodes, now
		}
	}
	return d.nodes
}

func isReady(nodes []corev1.Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == name && nodestate.NotReady(&n) == "" })
}

// overdue returns the absent nodes with a date in the past.
func overdue(s *site.Site, now time.Time) (all []config.Node) {
	for _, n := range s.Config.AbsentNodes() {
		if n.Absent.Past(now) {
			all = append(all, n)
		}
	}
	return all
}

// mayBeDown returns the names of the absent nodes with a date that is not past.
func mayBeDown(s *site.Site, now time.Time) (names []string) {
	for _, n := range s.Config.AbsentNodes() {
		if !n.Absent.Past(now) {
			names = append(names, n.Name)
		}
	}
	return names
}

// excused returns the nodes that may be missing: absent ones, and those that are owed, which have their own rule.
func excused(s *site.Site, debts []owed.Debt) map[string]bool {
	all := map[string]bool{}
	for _, n := range s.Config.AbsentNodes() {
		all[n.Name] = true
	}
	for _, d := range debts {
		all[d.Node] = all[d.Node] || d.Command == owed.Join
	}
	return all
}

// absentNotes says which nodes are absent.
func absentNotes(s *site.Site) []string {
	var all []string
	for _, n := range s.Config.AbsentNodes() {
		all = append(all, fmt.Sprintf("%s is absent: %s", n.Name, n.Absent))
	}
	return all
}
