package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Flavour is the kind of NVIDIA's kernel module.
type Flavour string

const (
	Open        Flavour = "open"
	Proprietary Flavour = "proprietary"
)

// Request is the driver that a site requests. Choose selects the values that are zero.
type Request struct {
	Branch  int // 580
	Flavour Flavour
}

// Choice is the driver for all GPUs of a host.
type Choice struct {
	Branch  int     `json:"branch"`
	Flavour Flavour `json:"flavour"`
}

// String returns, for example, "580 (open)".
func (c Choice) String() string { return fmt.Sprintf("%d (%s)", c.Branch, c.Flavour) }

// Choose finds a driver that supports every GPU for containers and matches the site's wish. For
// values that are zero it prefers branch 580, then branches with long-term support, then newer
// branches, and the open module, because the proprietary one ends with branch 619. The error lists
// the drivers that each GPU requires.
//
// some is false if the host has no GPU for containers.
func Choose(devices []Device, w Request) (c Choice, some bool, err error) {
	var cards []Device
	for _, d := range devices {
		if d.Kind == GPU && d.Reserved() == "" {
			cards = append(cards, d)
		}
	}
	if len(cards) == 0 {
		return Choice{}, false, nil
	}
	for _, branch := range w.branches() {
		for _, flavour := range w.flavours() {
			c := Choice{branch, flavour}
			if !slices.ContainsFunc(cards, func(d Device) bool { return !c.drives(d) }) {
				return c, true, nil
			}
		}
	}
	return Choice{}, true, w.refusal(cards)
}

func (w Request) branches() []int {
	if w.Branch != 0 {
		return []int{w.Branch}
	}
	all := Branches()
	slices.SortStableFunc(all, func(a, b Branch) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Number, a.Number))
	})
	var numbers []int
	for _, b := range all {
		numbers = append(numbers, b.Number)
	}
	return numbers
}

// preferred is the long-term branch that supports all architectures from Maxwell to Blackwell, so
// that all servers of a site get the same driver.
const preferred = 580

// rank sorts the preferred branch first, then branches with longer support.
func rank(b Branch) int {
	if b.Number == preferred {
		return -1
	}
	return slices.Index([]string{longTerm, production, newFeature}, b.Kind)
}

func (w Request) flavours() []Flavour {
	if w.Flavour != "" {
		return []Flavour{w.Flavour}
	}
	return []Flavour{Open, Proprietary}
}

func (c Choice) drives(d Device) bool {
	g := d.generation()
	if c.Flavour == Open {
		return g.Open.has(c.Branch)
	}
	return g.Proprietary.has(c.Branch)
}

// refusal lists each GPU model once, with the drivers that support it.
func (w Request) refusal(cards []Device) error {
	var wants []string
	for _, d := range cards {
		want := fmt.Sprintf("%s requires %s (%s)", d, d.generation().Modules(), d.generation().Source)
		if !slices.Contains(wants, want) {
			wants = append(wants, want)
		}
	}
	wished := "no branch and flavour"
	if w != (Request{}) {
		wished = "no driver " + strings.TrimSpace(w.String())
	}
	return fmt.Errorf("%s supports all GPUs: %s", wished, strings.Join(wants, "; "))
}

// String returns the requested values: "595 (proprietary)", "595", "(open)".
func (w Request) String() string {
	switch {
	case w.Flavour == "":
		return fmt.Sprint(w.Branch)
	case w.Branch == 0:
		return "(" + string(w.Flavour) + ")"
	default:
		return Choice(w).String()
	}
}
