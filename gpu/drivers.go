package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Generation is architectures that the same drivers know: the branches whose
// kernel modules of either flavour drive them, nil where none do.
type Generation struct {
	Architectures []Architecture `json:"architectures"`
	Open          *Span          `json:"open,omitempty"`
	Proprietary   *Span          `json:"proprietary,omitempty"`
	Source        string         `json:"source"`
}

// Span is branches from one to another, both of them in it; 0 is no end.
type Span struct {
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
}

func (s *Span) has(branch int) bool {
	return s != nil && branch >= s.From && (s.To == 0 || branch <= s.To)
}

// String is "570 and later", "580 and earlier".
func (s *Span) String() string {
	switch {
	case s.To == 0:
		return fmt.Sprintf("%d and later", s.From)
	case s.From == 0:
		return fmt.Sprintf("%d and earlier", s.To)
	default:
		return fmt.Sprintf("%d to %d", s.From, s.To)
	}
}

// Modules says which drivers there are for the generation: "open 515 and later,
// proprietary 619 and earlier".
func (g Generation) Modules() string {
	var flavours []string
	if g.Open != nil {
		flavours = append(flavours, "open "+g.Open.String())
	}
	if g.Proprietary != nil {
		flavours = append(flavours, "proprietary "+g.Proprietary.String())
	}
	return strings.Join(flavours, ", ")
}

// Generations lists them, oldest first. The proprietary module began with the driver of
// the first CUDA that knew the architecture: 10.0, 11.0 and 11.8. The open one began
// with branch 515.
func Generations() []Generation {
	const both = "NVIDIA: CUDA toolkit, driver and architecture matrix; CUDA release notes; Unix graphics feature deprecation schedule; open-gpu-kernel-modules"
	return []Generation{
		{[]Architecture{Fermi}, nil, &Span{To: 390}, "NVIDIA: current graphics driver releases, legacy releases"},
		{[]Architecture{Kepler}, nil, &Span{To: 470}, "NVIDIA: current graphics driver releases, legacy releases"},
		{[]Architecture{Maxwell, Pascal, Volta}, nil, &Span{To: 580}, "NVIDIA: Unix graphics feature deprecation schedule; open-gpu-kernel-modules#19"},
		{[]Architecture{Turing}, &Span{From: 515}, &Span{410, 619}, both},
		{[]Architecture{Ampere}, &Span{From: 515}, &Span{450, 619}, both},
		{[]Architecture{Ada, Hopper}, &Span{From: 520}, &Span{520, 619}, both},
		{[]Architecture{GraceHopper, Blackwell}, &Span{From: 570}, nil, "NVIDIA: transitions fully towards open-source GPU kernel modules"},
	}
}

// generation is that of a GPU: by the architecture that it is taken for, where the table
// does not have it.
func (d Device) generation() Generation {
	if g, is := generationOf(d.Architecture); is {
		return g
	}
	g, _ := generationOf(d.TakenFor()) // it is in the table
	g.Source = "not in the table, by its number; " + g.Source
	return g
}

// TakenFor is the architecture that a GPU which the table does not have is taken for; ""
// where it has it. NVIDIA counts up: it is the one whose numbers end before the GPU's own,
// and the oldest where there is none.
func (d Device) TakenFor() Architecture {
	if d.Kind != GPU || d.Architecture != "" {
		return ""
	}
	a := Fermi
	id, err := strconv.ParseUint(d.PCI.Device, 16, 16)
	for _, r := range IDRanges() {
		if err != nil || id > uint64(r.Last) {
			a = r.Architecture
		}
	}
	return a
}

func generationOf(a Architecture) (g Generation, is bool) {
	for _, g := range Generations() {
		if slices.Contains(g.Architectures, a) {
			return g, true
		}
	}
	return Generation{}, false
}

// Branch is a line of NVIDIA's driver for data centers.
type Branch struct {
	Number int    `json:"branch"`
	Kind   string `json:"kind"`
	Ends   string `json:"ends"` // the last month with fixes: "2028-06"
	CUDA   int    `json:"cuda"` // newest major version that it runs by itself
	Source string `json:"source"`
}

// Kinds of branches, by how long they have fixes.
const (
	longTerm   = "long-term support"
	production = "production"
	newFeature = "new feature"
)

// Branches lists them, oldest first.
func Branches() []Branch {
	const source = "NVIDIA: data center drivers, supported drivers and CUDA toolkit versions"
	return []Branch{
		{535, longTerm, "2026-06", 12, source},
		{580, longTerm, "2028-06", 13, source},
		{595, production, "2027-03", 13, source},
		{610, newFeature, "2026-08", 13, source},
		{620, longTerm, "2029-09", 13, source},
	}
}

// Listed reports whether the table has a branch, or one that is older: NVIDIA takes those
// from its page that have had no fixes for long.
func Listed(branch int) bool {
	all := Branches()
	return branch > all[len(all)-1].Number || slices.ContainsFunc(all, func(b Branch) bool { return b.Number == branch })
}

// Ended is the last month in which a branch had fixes, where that is over; ""
// for one that has them still or that the table does not have.
func Ended(branch int, now time.Time) string {
	for _, b := range Branches() {
		if b.Number == branch && b.Ends < now.Format("2006-01") {
			return b.Ends
		}
	}
	return ""
}
