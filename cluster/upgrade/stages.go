package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
)

// hostName is the prefix of the names of steps that upgrade a host or a batch.
const hostName = "upgrade-"

// Stage is a row of a plan: hosts or batches of one kind that follow each other.
type Stage struct {
	Hosts        []string `json:"hosts"`
	Racks        []string `json:"racks,omitempty"` // of airgap.yaml
	Steps        int      `json:"steps"`           // hosts or batches, one after the other
	Size         int      `json:"size"`            // hosts of the largest batch
	ControlPlane bool     `json:"controlPlane,omitempty"`
	GPU          bool     `json:"gpu,omitempty"`
	First        bool     `json:"first,omitempty"` // of its kind, and alone
}

// maxStages is the number of rows of a plan that fits a screen of 24 rows.
const maxStages = 13

// stages returns the rows of a plan: each batch, or the batches of each rack, or those of each kind of worker, whatever
// fits a screen. Workers one by one never have rows of their own.
func stages(controlPlane []config.Node, groups []group) []Stage {
	all := []Stage{stage(controlPlane, len(controlPlane), 1)}
	all[0].ControlPlane = true
	for _, g := range groups {
		s := stage(g.nodes, 1, len(g.nodes))
		s.GPU, s.First = g.nodes[0].Has(config.GPU), g.canary
		all = append(all, s)
	}
	sameKind := func(a, b Stage) bool {
		return a.ControlPlane == b.ControlPlane && a.GPU == b.GPU && !a.First && !b.First
	}
	sameRack := func(a, b Stage) bool { return sameKind(a, b) && slices.Equal(a.Racks, b.Racks) }
	all = merge(all, func(a, b Stage) bool { return sameRack(a, b) && a.Size == 1 && b.Size == 1 })
	for _, same := range []func(a, b Stage) bool{sameRack, sameKind} {
		if len(all) > maxStages {
			all = merge(all, same)
		}
	}
	return all
}

func stage(nodes []config.Node, steps, size int) Stage {
	s := Stage{Hosts: namesOf(nodes), Steps: steps, Size: size}
	for _, n := range nodes {
		if n.Rack != "" && !slices.Contains(s.Racks, n.Rack) {
			s.Racks = append(s.Racks, n.Rack)
		}
	}
	return s
}

// merge joins stages that follow each other.
func merge(all []Stage, same func(a, b Stage) bool) []Stage {
	var merged []Stage
	for _, s := range all {
		last := len(merged) - 1
		if last < 0 || !same(merged[last], s) {
			merged = append(merged, s)
			continue
		}
		m := &merged[last]
		m.Hosts = slices.Concat(m.Hosts, s.Hosts)
		m.Steps, m.Size = m.Steps+s.Steps, max(m.Size, s.Size)
		for _, rack := range s.Racks {
			if !slices.Contains(m.Racks, rack) {
				m.Racks = append(slices.Clone(m.Racks), rack)
			}
		}
	}
	return merged
}

// numbers are the numbers of the steps: 4, or 5-14.
func (s Stage) numbers(first int) string {
	if s.Steps == 1 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, first+s.Steps-1)
}

// Columns that a row of 80 has for hosts and racks.
const (
	hostColumns = 26
	rackColumns = 9
)

// shown are the hosts in the table.
func (s Stage) shown() string {
	text := hostrange.Join(s.Hosts)
	if len(text) <= hostColumns {
		return text
	}
	more := ""
	if len(s.Hosts) > 1 {
		more = fmt.Sprintf(" and %d more", len(s.Hosts)-1)
	}
	first, most := s.Hosts[0], hostColumns-len(more)
	if len(first) > most { // its domain is that of others
		first = first[:most-1] + "…"
	}
	return first + more
}

func (s Stage) rack() string {
	text := strings.Join(s.Racks, ", ")
	if text == "" || len(text) <= rackColumns {
		return text
	}
	if len(s.Racks) > 1 {
		return ui.Count(len(s.Racks), "rack")
	}
	return shortened(text, rackColumns)
}

// shortened keeps the end of a long text: the names of racks differ there.
func shortened(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return "…" + string(runes[len(runes)-most+1:])
}

func (s Stage) how() string {
	kind := ""
	if s.GPU {
		kind = "GPUs, "
	}
	switch {
	case s.ControlPlane && s.Steps == 1:
		return "control plane"
	case s.ControlPlane:
		return "control plane, one by one"
	case s.First && s.GPU:
		return "first with GPUs, alone"
	case s.First:
		return "first worker, alone"
	case s.Size == 1 && s.Steps == 1:
		return kind + "alone"
	case s.Size == 1:
		return kind + "one by one"
	case s.Steps == 1:
		return kind + "together"
	default:
		return fmt.Sprintf("%sin batches of %d", kind, s.Size)
	}
}
