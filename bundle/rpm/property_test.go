package rpm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestAllSubsets asks for packages of random small repositories. The solver finds a solution if and
// only if a subset of the packages is one, by rpm's rules. Its own solution is one, and loses it
// without any of its packages.
func TestAllSubsets(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 2026))
	count := map[bool]int{}
	for range 400 {
		packages := randomPackages(r)
		p, err := newProblem(t.Context(), universeOf(t, packages), newSurveyed(Installed{}), listed([]string{"n0", "n1"}, InstallList))
		if err != nil {
			t.Fatal(err)
		}
		chosen, ok, err := p.solve()
		want := slices.ContainsFunc(subsets(p.entries), func(s selection) bool { return s.complete() && s.allowed() })
		if err != nil || ok != want {
			t.Fatalf("%+v\na solution: %v, want %v; %v", packages, ok, want, err)
		}
		if count[ok]++; !ok {
			if all := p.explain(); len(all) == 0 || strings.Contains(all[0], "cannot find the reason") {
				t.Errorf("%+v\nno reason: %q", packages, all)
			}
			continue
		}
		if s := selection(chosen); !s.complete() || !s.allowed() {
			t.Fatalf("%+v\n%v is no solution", packages, chosen)
		}
		for i := range chosen {
			if s := selection(slices.Delete(slices.Clone(chosen), i, i+1)); s.complete() && s.allowed() {
				t.Errorf("%+v\n%v does not need %v", packages, chosen, chosen[i])
			}
		}
	}
	if count[true] < 50 || count[false] < 50 {
		t.Errorf("too few of a kind: %v", count)
	}
}

func randomPackages(r *rand.Rand) []pkg {
	const names = 5
	name := func() string { return fmt.Sprintf("n%d", r.IntN(names)) }
	ranged := func() string {
		return []string{name(), fmt.Sprintf("%s >= %d", name(), 1+r.IntN(3)), fmt.Sprintf("%s < %d", name(), 1+r.IntN(3)), fmt.Sprintf("c%d", r.IntN(2))}[r.IntN(4)]
	}
	var all []pkg
	for n := range names {
		for v := 1; v <= 1+r.IntN(2); v++ {
			p := pkg{nevra: fmt.Sprintf("n%d-%d-1.x86_64", n, v)}
			for i := range 2 {
				if r.IntN(3) == 0 {
					p.provides = append(p.provides, fmt.Sprintf("c%d", i))
				}
			}
			rich := func() string {
				form := []string{"(%s or %s)", "(%s and %s)", "(%s if %s)", "(%s with %s)", "(%s without %s)", "((%s if %s) or n4)", "(%s if %s else n3)"}[r.IntN(7)]
				return fmt.Sprintf(form, ranged(), name())
			}
			for range r.IntN(3) {
				p.requires = append(p.requires, []string{ranged(), ranged(), rich()}[r.IntN(3)])
			}
			if r.IntN(4) == 0 {
				p.conflicts = append(p.conflicts, []string{ranged(), fmt.Sprintf("(%s unless %s)", name(), name())}[r.IntN(2)])
			}
			if r.IntN(6) == 0 {
				p.obsoletes = append(p.obsoletes, fmt.Sprintf("n%d < 2", 2+r.IntN(3)))
			}
			p.requires = slices.DeleteFunc(p.requires, func(s string) bool { return strings.Contains(s, fmt.Sprintf("if n%d", n)) })
			p.conflicts = slices.DeleteFunc(p.conflicts, func(s string) bool {
				return strings.Contains(s, "unless") && strings.Contains(s, fmt.Sprintf("n%d", n))
			})
			all = append(all, p)
		}
	}
	return all
}

// selection is installed packages.
type selection []*entry

func subsets(entries []*entry) []selection {
	var all []selection
	for bits := range 1 << len(entries) {
		var s selection
		for i, e := range entries {
			if bits>>i&1 == 1 {
				s = append(s, e)
			}
		}
		all = append(all, s)
	}
	return all
}

// complete reports whether the request and all requirements are satisfied.
func (s selection) complete() bool {
	for _, name := range []string{"n0", "n1"} {
		if !slices.ContainsFunc(s, func(e *entry) bool { return e.Name == name }) {
			return false
		}
	}
	for _, e := range s {
		if slices.ContainsFunc(e.requires, func(x expression) bool { return !s.has(x, nil) }) {
			return false
		}
	}
	return true
}

// allowed reports whether no package excludes another.
func (s selection) allowed() bool {
	for _, e := range s {
		if slices.ContainsFunc(e.conflicts, func(x expression) bool { return s.has(x, e) }) {
			return false
		}
		for _, o := range s {
			if o != e && o.Name == e.Name || o.Name != e.Name && slices.ContainsFunc(e.obsoletes, self(o.NEVRA).satisfies) {
				return false
			}
		}
	}
	return true
}

// has evaluates an expression by rpm's rules. A package does not conflict with itself.
func (s selection) has(x expression, except *entry) bool {
	term := func(i int) bool { return s.has(x.terms[i], except) }
	switch x.op {
	case "":
		return slices.ContainsFunc(s, func(e *entry) bool { return e != except && e.offers(x.Capability) })
	case "and":
		return term(0) && term(1)
	case "or":
		return term(0) || term(1)
	case "if":
		return term(0) || !term(1)
	case "if else":
		return (term(0) || !term(1)) && (term(1) || term(2))
	case "unless":
		return term(0) && !term(1)
	case "with":
		return slices.ContainsFunc(s, func(e *entry) bool { return e.offers(x.terms[0].Capability) && e.offers(x.terms[1].Capability) })
	case "without":
		return slices.ContainsFunc(s, func(e *entry) bool { return e.offers(x.terms[0].Capability) && !e.offers(x.terms[1].Capability) })
	}
	panic("the operator " + x.op)
}
