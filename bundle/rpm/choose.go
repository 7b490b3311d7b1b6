package rpm

import (
	"cmp"
	"slices"
	"strings"
)

// one sees to a requirement that a single package has to satisfy.
func (r *resolver) one(w want) error {
	candidates, err := r.candidates(w.expression)
	if err != nil {
		return err
	}
	for _, e := range candidates {
		if r.chosen[e.Name] == e {
			r.choose(e, w.by.Name)
			return nil
		}
	}
	there, err := r.holds(w.expression)
	if err != nil || there {
		return err
	}
	free := slices.DeleteFunc(slices.Clone(candidates), func(e *entry) bool { return r.blocked(e) != "" })
	switch {
	case len(free) > 0:
		r.choose(best(free, w.expression), w.by.Name)
	case len(candidates) > 0:
		e := best(candidates, w.expression)
		r.problems.add("%s needs %s, which %s has, but %s", w.by, w, e, r.blocked(e))
	default:
		r.problems.missing(w.String(), r.universe.nearest(w.Name), w.by.String())
	}
	return nil
}

// nearest is the newest package of that name, whatever was asked for.
func (u *universe) nearest(name string) string {
	if len(u.byName[name]) == 0 {
		return ""
	}
	return slices.MaxFunc(u.byName[name], func(a, b *entry) int { return a.Compare(b.EVR) }).people()
}

// candidates are the packages that satisfy an expression alone.
func (r *resolver) candidates(x expression) ([]*entry, error) {
	if x.op == "" {
		return r.universe.offering(r.ctx, x.Capability)
	}
	var all []*entry
	for i, term := range x.terms {
		list, err := r.candidates(term)
		if err != nil {
			return nil, err
		}
		switch {
		case i == 0:
			all = slices.Clone(list)
		case x.op == "or":
			all = append(all, list...)
		case x.op == "if": // the term behind it is a condition
		default:
			all = slices.DeleteFunc(all, func(e *entry) bool { return !slices.Contains(list, e) })
		}
	}
	return all, nil
}

// holds reports whether what is installed or chosen satisfies x.
func (r *resolver) holds(x expression) (bool, error) {
	switch x.op {
	case "":
		return r.capable(x.Capability)
	case "or":
		return r.anyHolds(x.terms)
	case "if":
		condition, err := r.holds(x.terms[1])
		if err != nil || !condition {
			return !condition, err
		}
		return r.holds(x.terms[0])
	}
	for _, term := range x.terms {
		if ok, err := r.holds(term); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (r *resolver) anyHolds(terms []expression) (bool, error) {
	for _, term := range terms {
		if ok, err := r.holds(term); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

func (r *resolver) capable(c Capability) (bool, error) {
	if there, err := r.system.has(r.ctx, r.universe, c); err != nil || there {
		return there, err
	}
	offering, err := r.universe.offering(r.ctx, c)
	return slices.ContainsFunc(offering, func(e *entry) bool { return r.chosen[e.Name] == e }), err
}

// blocked says why a package cannot be taken, or "".
func (r *resolver) blocked(e *entry) string {
	if have, ok := r.system.installed(e.Name); ok {
		return have.people() + " is installed and would be replaced"
	}
	if have := r.chosen[e.Name]; have != nil && have != e {
		return have.people() + " is already chosen for " + strings.Join(r.parents(have), ", ")
	}
	return ""
}

// people is a package as people write it: a profile knows no versions.
func (n NEVRA) people() string {
	if n.Version == "" {
		return n.Name
	}
	return n.Name + "-" + n.EVR.String() + "." + n.Arch
}

// best prefers the package whose name was asked for, then the shortest name,
// then the newest version, then a build for the architecture.
func best(candidates []*entry, x expression) *entry {
	asked := func(e *entry) int {
		if e.Name == x.Name || len(x.terms) > 0 && e.Name == x.terms[0].Name {
			return 0
		}
		return 1
	}
	return slices.MinFunc(candidates, func(a, b *entry) int {
		return cmp.Or(
			cmp.Compare(asked(a), asked(b)),
			cmp.Compare(len(a.Name), len(b.Name)),
			strings.Compare(a.Name, b.Name),
			b.Compare(a.EVR),
			cmp.Compare(rank(a.Arch), rank(b.Arch)),
		)
	})
}

func rank(arch string) int {
	if arch == "noarch" {
		return 1
	}
	return 0
}
