package rpm

import (
	"cmp"
	"slices"
	"strings"
)

// choice chooses between alternatives as dnf does, see policy_filter_unwanted of its solver:
// https://github.com/openSUSE/libsolv/blob/master/src/policy.c
type choice struct {
	*problem

	chosen func(*entry) bool // reports whether a package was chosen before
	weak   weak
}

// best returns the candidate that dnf takes.
func (c choice) best(candidates []int) int {
	kept := c.prune(candidates)
	if len(kept) == 1 {
		return kept[0]
	}
	kept = toFront(kept, func(n int) bool { return !c.universe.outdated(c.entry(n)) })
	badness := c.behind(kept)
	sortStable(c.ctx, kept, func(a, b int) int { return cmp.Compare(badness[a], badness[b]) })
	return toFront(kept, func(n int) bool { return c.suggested(c.entry(n)) })[0]
}

// prune leaves the candidates between which dnf chooses: of each name the newest build,
// without the names that another candidate obsoletes, and if any are recommended, only
// these. They are sorted by name, but packages that are installed for another architecture
// come first. Preferred packages are before all others.
func (c choice) prune(candidates []int) []int {
	kept := c.newest(some(candidates, func(n int) bool { return c.preferred[c.entry(n)] }))
	if len(kept) == 1 {
		return kept
	}
	kept = toFront(c.current(kept), func(n int) bool { return len(c.system.installed(c.entry(n).Name)) > 0 })
	if len(kept) == 1 {
		return kept
	}
	return some(kept, func(n int) bool { return c.recommended(c.entry(n)) })
}

// some returns the members of list for which is is true, or if there are none, list.
func some(list []int, is func(int) bool) []int {
	if kept := slices.DeleteFunc(slices.Clone(list), func(n int) bool { return !is(n) }); len(kept) > 0 {
		return kept
	}
	return list
}

// toFront moves the members of list for which is is true to the front.
func toFront(list []int, is func(int) bool) []int {
	var front, back []int
	for _, n := range list {
		if is(n) {
			front = append(front, n)
		} else {
			back = append(back, n)
		}
	}
	return append(front, back...)
}

// newest returns the newest build of each name, sorted by name. The candidates of a clause
// are already sorted: of each name the newest is first.
func (c choice) newest(candidates []int) []int {
	seen := map[string]bool{}
	kept := slices.DeleteFunc(slices.Clone(candidates), func(n int) bool {
		name := c.entry(n).Name
		known := seen[name]
		seen[name] = true
		return known
	})
	sortStable(c.ctx, kept, func(a, b int) int { return strings.Compare(c.entry(a).Name, c.entry(b).Name) })
	return kept
}

// current leaves out the candidates that another one obsoletes. Two that obsolete each other
// both stay.
func (c choice) current(candidates []int) []int {
	obsoleters := map[string][]*entry{}
	for _, n := range candidates {
		for _, obsoleted := range c.entry(n).obsoletes {
			file(obsoleters, obsoleted.Name, c.entry(n))
		}
	}
	return some(candidates, func(n int) bool {
		e := c.entry(n)
		return !slices.ContainsFunc(obsoleters[e.Name], func(o *entry) bool { return c.ctx.Err() == nil && o.replaces(e) && !e.replaces(o) })
	})
}

// providedVersion is a version of a capability that a candidate provides.
type providedVersion struct {
	by int // a candidate
	Capability
}

// behind counts for each candidate the capabilities for which another candidate provides
// a higher version.
func (c choice) behind(candidates []int) map[int]int {
	var all []providedVersion
	for _, n := range candidates {
		if c.ctx.Err() != nil {
			return nil
		}
		for _, provided := range c.entry(n).provides {
			if f := provided.Flags; f == "LT" || f == "LE" || f == "EQ" && !isHash(provided.EVR.String()) {
				all = append(all, providedVersion{n, provided})
			}
		}
	}
	highestFirst := func(a, b providedVersion) int {
		return cmp.Or(b.Compare(a.EVR), compareBool(a.Flags == "LT", b.Flags == "LT"))
	}
	sortStable(c.ctx, all, func(a, b providedVersion) int {
		if order := strings.Compare(a.Name, b.Name); order != 0 {
			return order
		}
		return highestFirst(a, b)
	})
	badness := map[int]int{}
	bad := 0
	for i := 1; i < len(all); i++ {
		last, next := all[i-1], all[i]
		switch {
		case last.Name != next.Name:
			bad = 0
		case last.by != next.by && highestFirst(last, next) < 0:
			bad++
		}
		badness[next.by] += bad
	}
	return badness
}

// isHash reports whether a version is a hash of symbols, which has no order. As in libsolv,
// these are all versions of at least four hexadecimal digits.
func isHash(version string) bool {
	return len(version) >= 4 && strings.Trim(version, "0123456789abcdef") == ""
}

// recommended reports whether a taken package recommends e, or e supplements the packages.
func (c choice) recommended(e *entry) bool {
	return meets(c.weak.recommended, e) || c.fulfilled(e.supplements)
}

// suggested reports whether a taken package suggests e, or e enhances the packages. dnf
// considers weak dependencies also if it installs none.
func (c choice) suggested(e *entry) bool {
	return meets(c.weak.suggested, e) || c.fulfilled(e.enhances)
}

// weak is the weak dependencies of the taken packages, by the capability's name.
type weak struct{ recommended, suggested map[string][]Capability }

func newWeak() weak { return weak{map[string][]Capability{}, map[string][]Capability{}} }

func (w weak) add(e *entry) {
	for _, c := range e.recommends {
		w.recommended[c.Name] = append(w.recommended[c.Name], c)
	}
	for _, c := range e.suggests {
		w.suggested[c.Name] = append(w.suggested[c.Name], c)
	}
}

// meets reports whether a package has one of the capabilities.
func meets(wanted map[string][]Capability, e *entry) bool {
	return len(wanted) > 0 && slices.ContainsFunc(e.provides, func(has Capability) bool {
		return slices.ContainsFunc(wanted[has.Name], has.satisfies)
	})
}

// fulfilled reports whether the taken and the installed packages satisfy one of the relations.
func (c choice) fulfilled(relations []expression) bool {
	return slices.ContainsFunc(relations, func(x expression) bool { return x.supported() == nil && c.holds(x.plain()) })
}

func (c choice) holds(x expression) bool {
	one := func(term expression) bool { return c.holds(term) }
	switch x.op {
	case "not":
		return !one(x.terms[0])
	case "and":
		return !slices.ContainsFunc(x.terms, func(term expression) bool { return !one(term) })
	case "or":
		return slices.ContainsFunc(x.terms, one)
	}
	some, err := c.set(x)
	return err == nil && (some.installed || slices.ContainsFunc(some.members, c.chosen))
}
