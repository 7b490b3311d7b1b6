package rpm

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// resolver closes over requirements. It takes the newest package that fits
// and never goes back on a choice: a solver is to replace it.
type resolver struct {
	ctx      context.Context
	universe *universe
	system   system
	chosen   map[string]*entry // by name: one version of each
	order    []*entry          // as chosen
	neededBy map[*entry]map[string]bool
	later    []want // requirements with a condition that may come true
	problems problems
}

// want is a requirement and who has it.
type want struct {
	expression
	by NEVRA
}

func newResolver(ctx context.Context, u *universe, s system) *resolver {
	return &resolver{ctx: ctx, universe: u, system: s, chosen: map[string]*entry{}, neededBy: map[*entry]map[string]bool{}}
}

// resolve chooses what the list asks for and everything that needs. Problems
// are collected; the error is for what cannot be read.
func (r *resolver) resolve(install []string) error {
	for _, spec := range install {
		r.install(spec)
	}
	for i := 0; ; i++ {
		if i == len(r.order) {
			if more, err := r.conditions(); err != nil || !more {
				return err
			}
			i--
			continue
		}
		for _, e := range r.order[i].requires {
			if err := r.require(want{e, r.order[i].NEVRA}); err != nil {
				return err
			}
		}
	}
}

func (r *resolver) choose(e *entry, by string) {
	if r.neededBy[e] == nil {
		r.neededBy[e] = map[string]bool{}
		r.chosen[e.Name] = e
		r.order = append(r.order, e)
	}
	if by != e.Name {
		r.neededBy[e][by] = true
	}
}

// install chooses the newest package that a list's entry names.
func (r *resolver) install(spec string) {
	candidates := r.universe.named(spec)
	if len(candidates) == 0 {
		if _, ok := r.system.installed(spec); !ok {
			r.problems.missing(spec, "", InstallList)
		}
		return
	}
	newest := slices.MaxFunc(candidates, func(a, b *entry) int { return a.Compare(b.EVR) })
	have, ok := r.system.installed(newest.Name)
	switch {
	case ok && (spec == newest.Name || have.Version == "" || have.EVR == newest.EVR):
	case ok:
		r.problems.add("%s asks for %s, but %s is installed and would be replaced", InstallList, newest, have)
	default:
		r.choose(newest, InstallList)
	}
}

// named are the packages that an entry NAME, NAME-VERSION or
// NAME-VERSION-RELEASE means.
func (u *universe) named(spec string) []*entry {
	if list := u.byName[spec]; len(list) > 0 {
		return list
	}
	var all []*entry
	for name := spec; ; {
		dash := strings.LastIndexByte(name, '-')
		if dash < 0 {
			return all
		}
		name = name[:dash]
		for _, e := range u.byName[name] {
			if want, err := parseEVR(spec[dash+1:]); err == nil && e.is(want) {
				all = append(all, e)
			}
		}
	}
}

func (e *entry) is(v EVR) bool {
	return e.Version == v.Version && (v.Release == "" || e.Release == v.Release || e.Release+"."+e.Arch == v.Release)
}

// require sees to one requirement, whatever its form.
func (r *resolver) require(w want) error {
	if err := w.supported(); err != nil {
		r.problems.add("%s cannot be planned: %v", w.by, err)
		return nil
	}
	switch w.op {
	case "and":
		for _, term := range w.terms {
			if err := r.require(want{term, w.by}); err != nil {
				return err
			}
		}
		return nil
	case "if":
		r.later = append(r.later, w)
		return nil
	case "or":
		return r.either(w)
	}
	return r.one(w)
}

// either takes the first alternative that is there, else the first that can
// be had.
func (r *resolver) either(w want) error {
	pick := -1
	for i, term := range slices.Backward(w.terms) {
		candidates, err := r.candidates(term)
		if err != nil {
			return err
		}
		if len(candidates) > 0 {
			pick = i
		}
	}
	for i, term := range w.terms {
		there, err := r.holds(term)
		if err != nil {
			return err
		}
		if there {
			pick = i
			break
		}
	}
	if pick < 0 {
		r.problems.missing(w.String(), "", w.by.String())
		return nil
	}
	return r.require(want{w.terms[pick], w.by})
}

// conditions looks again at "A if B" after all else is chosen, and reports
// whether that chose anything.
func (r *resolver) conditions() (bool, error) {
	before := len(r.order)
	waiting := r.later
	r.later = nil
	for _, w := range waiting {
		holds, err := r.holds(w.terms[1])
		if err != nil {
			return false, err
		}
		if !holds {
			r.later = append(r.later, w)
			continue
		}
		if err := r.require(want{w.terms[0], w.by}); err != nil {
			return false, err
		}
	}
	return len(r.order) > before, nil
}

func (r *resolver) parents(e *entry) []string {
	return slices.Sorted(maps.Keys(r.neededBy[e]))
}
