package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Flavour is of the kernel module.
type Flavour string

const (
	Open        Flavour = "open"
	Proprietary Flavour = "proprietary"
)

// Wish is what a site says of the driver; zero values leave it to Choose.
type Wish struct {
	Branch  int // 580
	Flavour Flavour
}

// Choice is the driver for all cards of a host.
type Choice struct {
	Branch  int     `json:"branch"`
	Flavour Flavour `json:"flavour"`
}

// String is "580 (open)".
func (c Choice) String() string { return fmt.Sprintf("%d (%s)", c.Branch, c.Flavour) }

// Choose finds the driver that drives every card which containers can have, as
// the site wishes it. What a site leaves open is long-term support before the
// others, the newest of them, and the open module before the proprietary one,
// which ends with branch 619. The error says, for whoever makes the bundle,
// what each card would want.
//
// some is false where there is no such card.
func Choose(devices []Device, w Wish) (c Choice, some bool, err error) {
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

func (w Wish) branches() []int {
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

// preferred is the long-term branch that has fixes and drives all from Maxwell to
// Blackwell: servers of one site get one driver.
const preferred = 580

// rank puts branches that last first, and the preferred one before them.
func rank(b Branch) int {
	if b.Number == preferred {
		return -1
	}
	return slices.Index([]string{longTerm, production, newFeature}, b.Kind)
}

func (w Wish) flavours() []Flavour {
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

// refusal names each sort of card once, with what drives it.
func (w Wish) refusal(cards []Device) error {
	var wants []string
	for _, d := range cards {
		want := fmt.Sprintf("%s wants %s (%s)", d, d.generation().Modules(), d.generation().Source)
		if !slices.Contains(wants, want) {
			wants = append(wants, want)
		}
	}
	wished := "no branch and flavour"
	if w != (Wish{}) {
		wished = "no driver " + strings.TrimSpace(w.String())
	}
	return fmt.Errorf("%s drives all cards: %s", wished, strings.Join(wants, "; "))
}

// String is what is not left open: "595 (proprietary)", "595", "(open)".
func (w Wish) String() string {
	switch {
	case w.Flavour == "":
		return fmt.Sprint(w.Branch)
	case w.Branch == 0:
		return "(" + string(w.Flavour) + ")"
	default:
		return Choice(w).String()
	}
}
