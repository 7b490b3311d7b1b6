package chart

import (
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/workload"
)

// Member is one of the charts and manifests that share a cluster.
type Member struct {
	Chart     *Chart            // nil: manifests alone
	Release   Release           // its APIs are set by Together
	Manifests []workload.Object // that are installed beside the chart

	Rendered *Rendered // what came out; nil after an error
	Err      error
	Times    int // how often it was rendered

	known, defines []string
}

// maxPasses bounds how often each member is rendered.
const maxPasses = 3

// Together renders the members in their order. install applies the definitions of all
// before anything else, so each chart sees the kinds that the others define. Those below
// templates/ are known only when the others were rendered: a chart that asks for kinds,
// and was rendered without some, is rendered again.
func Together(members []*Member) {
	var foreseen []string
	for _, m := range members {
		foreseen = append(foreseen, m.foresees()...)
	}
	for pass := 1; ; pass++ {
		again := false
		for i, m := range members {
			known := slices.Clone(foreseen)
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

// foresees are the kinds that can be seen before anything is rendered: those of the crds
// directories of a chart, and of manifests.
func (m *Member) foresees() []string {
	kinds := kindsOf(m.Manifests)
	if m.Chart != nil {
		if defined, err := m.Chart.Definitions(m.Release); err == nil { // Render reports it
			kinds = append(kinds, kindsOf(defined)...)
		}
	}
	return kinds
}

// render renders a member with the kinds that are known, unless it was rendered with them.
// It reports whether others may see more now.
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
			m.Rendered.Notices = append(m.Rendered.Notices, "add-ons depend on each other's CRDs in a circle; the last rendering is used")
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

// asksForKinds reports whether a template looks at what the cluster serves.
func asksForKinds(texts map[string]string) bool {
	for _, text := range texts {
		if strings.Contains(text, "APIVersions") {
			return true
		}
	}
	return false
}
