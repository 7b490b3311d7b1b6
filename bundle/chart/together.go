package chart

import (
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/workload"
)

// Member is a chart with manifests that shares a cluster with other members.
type Member struct {
	Chart     *Chart            // nil if there are only manifests
	Release   Release           // Together sets its APIs
	Manifests []workload.Object // installed in addition to the chart

	Rendered *Rendered // result; nil after an error
	Err      error
	Times    int // number of renderings

	known, defines []string
}

// maxPasses limits the number of renderings of each member.
const maxPasses = 3

// Together renders the members in order. install applies the definitions of all members
// first, so each chart sees the kinds that the others define. Kinds below templates/ are
// known only after the rendering of the others. So Together renders a chart again if it
// reads the APIs and new kinds are known.
func Together(members []*Member) {
	var initial []string
	for _, m := range members {
		initial = append(initial, m.initialKinds()...)
	}
	for pass := 1; ; pass++ {
		again := false
		for i, m := range members {
			known := slices.Clone(initial)
			for j, other := range members {
				if j != i {
					known = slices.Concat(known, other.defines)
				}
			}
			again = m.render(known, pass) || again
		}
		if !again {
			return
		}
	}
}

// initialKinds returns the kinds that are known before the rendering: the kinds in the crds
// directories of a chart, and in manifests.
func (m *Member) initialKinds() []string {
	kinds := kindsOf(m.Manifests)
	if m.Chart != nil {
		if defined, err := m.Chart.Definitions(m.Release); err == nil { // Render reports it
			kinds = append(kinds, kindsOf(defined)...)
		}
	}
	return kinds
}

// render renders a member with the known kinds, unless it was rendered with the same kinds.
// It reports whether the kinds that the member defines have changed.
func (m *Member) render(known []string, pass int) bool {
	slices.Sort(known)
	known = slices.Compact(known)
	switch {
	case m.Chart == nil:
		m.Rendered = &Rendered{}
		return false
	case m.Times > 0 && (!m.Chart.asks || slices.Equal(m.known, known)):
		return false
	case pass > maxPasses:
		if m.Rendered != nil {
			m.Rendered.Notices = append(m.Rendered.Notices, "add-ons depend on each other's CRDs in a cycle; airgap uses the last rendering")
		}
		return false
	}
	m.Release.APIs, m.known = known, known
	m.Times++
	if m.Rendered, m.Err = m.Chart.Render(m.Release); m.Err != nil {
		return false
	}
	before := m.defines
	m.defines = kindsOf(m.Rendered.Objects)
	return !slices.Equal(before, m.defines)
}

func kindsOf(objects []workload.Object) []string {
	var kinds []string
	for _, o := range objects {
		kinds = append(kinds, o.Defines()...)
	}
	return kinds
}

// asksForKinds reports whether a template reads the APIs of the cluster.
func asksForKinds(texts map[string]string) bool {
	for _, text := range texts {
		if strings.Contains(text, "APIVersions") {
			return true
		}
	}
	return false
}
