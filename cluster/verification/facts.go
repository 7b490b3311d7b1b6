package verification

import (
	"context"
	"slices"
	"sync"

	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/result"
)

// verifyFacts has the expected state of the cluster. It is updated periodically, since nodes
// and the pod network can change during a run.
type verifyFacts struct {
	o    Options
	site *site.Site // nil: the cluster of another host

	mu         sync.Mutex
	registries []string // that the probe asks
}

// ask leaves out facts without an answer: they stay unchanged.
func (f *verifyFacts) ask(ctx context.Context) verify.Facts {
	client, err := ClusterClient(f.o.Kubeconfig)
	if err != nil {
		return verify.Facts{}
	}
	var facts verify.Facts
	if f.site != nil {
		if now, err := f.site.FetchRemoved(ctx, client); err == nil {
			f.site = now
			debts, _ := owed.Record.Known(ctx, client) // the rule owed-hosts reports an error
			facts.Nodes = expected(now, f.o.JoinedOnly, debts)
			f.set(probed(now, f.o.JoinedOnly, debts))
		}
	}
	if system, err := nodesteps.SystemOf(ctx, client, f.o.network); err == nil {
		facts.Namespaces, facts.Workloads, facts.PodLinks = system.Namespaces, system.Workloads, system.Links
	}
	return facts
}

func (f *verifyFacts) set(registries []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.registries = registries
}

func (f *verifyFacts) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.registries)
}

// probe asks the registries how they are and whether they have the same.
func (f *verifyFacts) probe() (verify.Probe, error) {
	addresses := f.asked()
	all, err := RegistriesAt(addresses, f.o.CA)
	probe := RegistriesProbe()
	probe.Ask = func(ctx context.Context) []result.Finding {
		if now := f.asked(); !slices.Equal(now, addresses) {
			if clients, err := RegistriesAt(now, f.o.CA); err == nil {
				all, addresses = clients, now
			}
		}
		var findings []result.Finding
		for _, d := range registry.Compare(ctx, all) {
			findings = append(findings, result.Finding{Object: d.Object, Saw: d.Saw, Want: d.Want, Fix: d.Fix})
		}
		return findings
	}
	return probe, err
}

// expected are the nodes that have to be there: all, or this host's own.
// Absent nodes and owed ones may be missing.
func expected(s *site.Site, joinedOnly bool, debts []owed.Debt) []string {
	nodes := []string{}
	missing := excused(s, debts)
	for _, n := range s.Config.Nodes {
		if !joinedOnly && !missing[n.Name] || n.Name == s.Node.Name {
			nodes = append(nodes, n.Name)
		}
	}
	return nodes
}

// probed are the registries that have to answer.
func probed(s *site.Site, joinedOnly bool, debts []owed.Debt) []string {
	if joinedOnly {
		return []string{s.RegistryAddr()}
	}
	var all []string
	missing := excused(s, debts)
	for _, n := range s.RegistryHosts() {
		if !missing[n.Name] {
			all = append(all, s.RegistryOf(n))
		}
	}
	return all
}
