package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/kubeadm/kube"
)

// absentNode is a node that airgap.yaml declares absent.
type absentNode struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
	Until  string `json:"until,omitempty"`
	Past   bool   `json:"past,omitempty"` // the date is past
}

// tellAbsent collects the absent nodes.
func (st *Status) tellAbsent(s *site.Site) {
	if s == nil {
		return
	}
	for _, n := range s.Config.AbsentNodes() {
		st.Absent = append(st.Absent, absentNode{n.Name, n.Absent.Reason, n.Absent.Until, n.Absent.Past(st.now)})
	}
}

// mayBeDown reports whether a node is absent, and its date is not past.
func (st *Status) mayBeDown(name string) bool {
	return slices.ContainsFunc(st.Absent, func(a absentNode) bool { return a.Node == name && !a.Past })
}

// tellOwed collects the hosts that commands left out: on any control-plane host, and those of this host alone if the
// cluster does not answer.
func (st *Status) tellOwed(ctx context.Context, s *site.Site, record owed.File) {
	if s == nil {
		return
	}
	st.addresses = map[string]string{}
	for _, n := range s.Nodes {
		st.addresses[n.Name] = n.Address
	}
	client, err := kube.Client(s.Machine.Machine, kube.AdminConf)
	if errors.Is(err, fs.ErrNotExist) { // a worker, or no cluster yet
		debts, err := record.Read()
		st.problem(err)
		if len(debts) > 0 {
			st.Owed = owed.Open(debts, s, nil)
		}
		return
	}
	if err != nil {
		st.problem(err)
		return
	}
	st.tellOwedOf(ctx, client, s, record)
}

func (st *Status) tellOwedOf(ctx context.Context, client kubernetes.Interface, s *site.Site, record owed.File) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	debts, err := record.Known(ctx, client)
	st.problem(err)
	if len(debts) > 0 {
		st.Owed = owed.Open(debts, s, listNodes(ctx, client))
	}
}

// listNodes returns the nodes of the cluster; none if no API server answers.
func listNodes(ctx context.Context, client kubernetes.Interface) []corev1.Node {
	all, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil
	}
	return all.Items
}

// writeOwed writes the owed hosts and the absent nodes, equal ones in one line.
func (st *Status) writeOwed(w io.Writer) {
	var debts, absent []alike.Said
	for _, d := range st.Owed {
		says := fmt.Sprintf("%s since %s: %s", d.Again(), d.Since.Local().Format(time.DateOnly), d.Why)
		debts = append(debts, alike.Said{Host: d.Node, Address: st.addresses[d.Node], Text: says})
	}
	for _, n := range st.Absent {
		says := n.Reason
		if n.Until != "" {
			says += ", until " + n.Until
		}
		if n.Past {
			says += " (this date is past)"
		}
		absent = append(absent, alike.Said{Host: n.Node, Text: says})
	}
	for _, g := range alike.InOrder(debts) {
		fmt.Fprintf(w, "owed      %s: %s\n", hostrange.Join(g.Hosts), g.Text)
	}
	for _, g := range alike.InOrder(absent) {
		fmt.Fprintf(w, "absent    %s: %s\n", hostrange.Join(g.Hosts), g.Text)
	}
}

// nextOwed returns the next actions about owed hosts and past dates.
func (st *Status) nextOwed() []string {
	commands := map[string][]string{}
	var order, all, past []string
	for _, d := range st.Owed {
		if commands[d.Again()] == nil {
			order = append(order, d.Again())
		}
		commands[d.Again()] = append(commands[d.Again()], d.Node)
	}
	for _, command := range order {
		all = append(all, fmt.Sprintf("%s picks up %s; airgap remove NODE --force removes one whose host is gone", command, hostrange.Join(commands[command])))
	}
	for _, n := range st.Absent {
		if n.Past {
			past = append(past, n.Node)
		}
	}
	if len(past) > 0 {
		all = append(all, fmt.Sprintf("remove nodes[].absent of %s from airgap.yaml if the server is there, set a later date, or remove the node", hostrange.Join(past)))
	}
	return all
}

// deadNodes is the next action about nodes that are not ready, from the line about the cluster.
func (st *Status) deadNodes() []string {
	if st.Health == nil || !strings.Contains(st.Health.Says, "; not ") {
		return nil
	}
	return []string{"if the host of a node that is not ready is dead, airgap remove NODE --force removes the node"}
}
