// Package attribution decides which findings of a comparison are because of the hosts that were changed.
package attribution

import (
	"slices"
	"strings"

	"airgap.dev/airgap/verify/result"
)

// Change is a change of some hosts of a cluster.
type Change struct {
	Hosts []string // that were changed; none: every finding is because of the change
	// Ran has the workloads with pods on each of these hosts before the change: "Deployment shop/web". The
	// workloads of a host without an entry are unknown.
	Ran map[string][]string
}

// Elsewhere reports whether a finding is not because of the change: it is about a workload of the site that had no
// pod on the hosts, and all of its pods that do not work are on other hosts. In doubt it is because of the change.
func (c Change) Elsewhere(f result.Finding) bool {
	if f.Place == nil || f.Place.Owner == "" || len(c.Hosts) == 0 {
		return false
	}
	for _, node := range f.Place.Nodes {
		if node == "" || slices.Contains(c.Hosts, node) {
			return false
		}
	}
	if strings.HasPrefix(f.Place.Owner, "DaemonSet ") { // it has a pod on each host, and none moves to another one
		return len(f.Place.Nodes) > 0
	}
	return !slices.ContainsFunc(c.Hosts, func(host string) bool {
		owners, known := c.Ran[host]
		return !known || slices.Contains(owners, f.Place.Owner)
	})
}

// OnHost returns the workloads with pods on a host in a snapshot.
func OnHost(s result.Snapshot, host string) []string {
	var owners []string
	for name, c := range s.Containers {
		owner, _, _ := strings.Cut(name, ", container ")
		for _, p := range c.Pods {
			if p.Node == host && !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
		}
	}
	slices.Sort(owners)
	return owners
}
