package owed

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/cluster/site"
)

// Open returns the debts of nodes that the site still lists. A node that has the bundle of the site is not owed a join or
// an upgrade any more: its own airgap may have run there without this host.
func Open(debts []Debt, s *site.Site, nodes []corev1.Node) []Debt {
	current := map[string]bool{}
	for i := range nodes {
		current[nodes[i].Name] = s.Index != nil && s.Index.ID() != "" && site.Noted(&nodes[i], site.BundleNote, s.Index.ID()) == nil
	}
	listed := map[string]bool{}
	for _, n := range s.Config.PresentNodes() {
		listed[n.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(debts), func(d Debt) bool {
		return !listed[d.Node] || current[d.Node] && d.Command != Rollback
	})
}
