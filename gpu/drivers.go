package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Generation is a group of architectures with the same drivers: for each flavour of the kernel module
// the branches that support them, nil for none.
type Generation struct {
	Architectures []Architecture `json:"architectures"`
	Open          *Span          `json:"open,omitempty"`
	Proprietary   *Span          `json:"proprietary,omitempty"`
	Source        string         `json:"source"`
}

// Span is an inclusive range of branches; 0 is no limit.
type Span struct {
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
}

func (s *Span) has(branch int) bool {
	return s != nil && branch >= s.From && (s.To == 0 || branch <= s.To)
}

// String returns, for example, "570 and later" or "580 and earlier".
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

// Modules returns the drivers for the generation: "open 515 and later, proprietary 619 and earlier".
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

// Generations returns all generations, oldest first. The first proprietary module is in the driver of
// the first CUDA that supports the architecture: 10.0, 11.0 and 11.8. The open module starts with
// branch 515.
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

// generation returns the generation of a GPU. For a GPU that is not in the table it uses AssumedArchitecture.
func (d Device) generation() Generation {
	if g, is := generationOf(d.Architecture); is {
		return g
	}
	g, _ := generationOf(d.AssumedArchitecture()) // AssumedArchitecture is always in the table
	g.Source = "not in the table, by its number; " + g.Source
	return g
}

// AssumedArchitecture returns the assumed architecture of a GPU that is not in the table; "" if it is. NVIDIA
// assigns increasing device IDs, so it is the architecture of the last range below the GPU's ID, or
// the oldest one.
func (d Device) AssumedArchitecture() Architecture {
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
	CUDA   int    `json:"cuda"` // newest major version of CUDA that it supports without a compatibility package
	Source string `json:"source"`
}

// Kinds of branches, by the length of their support.
const (
	longTerm   = "long-term support"
	production = "production"
	newFeature = "new feature"
)

// Branches returns all known branches, oldest first.
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

// Listed reports whether the table has a branch, or whether the branch is newer than the table. NVIDIA
// removes branches from its page some time after their last fix.
func Listed(branch int) bool {
	all := Branches()
	return branch > all[len(all)-1].Number || slices.ContainsFunc(all, func(b Branch) bool { return b.Number == branch })
}

// EndOfSupport returns the last month with fixes of a branch without support; "" for a supported branch or
// one that is not in the table.
func EndOfSupport(branch int, now time.Time) string {
	for _, b := range Branches() {
		if b.Number == branch && b.Ends < now.Format("2006-01") {
			return b.Ends
		}
	}
	return ""
}
