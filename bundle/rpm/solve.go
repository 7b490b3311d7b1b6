package rpm

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"airgap.dev/airgap/bundle/rpm/sat"
	"airgap.dev/airgap/internal/advice"
)

// solve chooses packages so that every clause is true. It takes the packages
// without an alternative first. Then it takes the best package for each need,
// in order, as long as a solution remains. It returns false if no solution
// exists.
//
// The best package nearly always leads to a solution. Only if the first walk
// fails does solve ask the SAT solver at each choice.
func (p *problem) solve() ([]*entry, bool, error) {
	q := p.compile()
	defer func() { p.steps += q.Steps }()
	chosen, ok := p.walk(q, false)
	if p.ctx.Err() != nil {
		return nil, false, context.Cause(p.ctx)
	}
	if !ok {
		q.Reset()
		if ok, err := q.Satisfiable(); err != nil || !ok {
			p.core = q.Core()
			return nil, false, tooDense(err)
		}
		if chosen, ok = p.walk(q, true); !ok || p.ctx.Err() != nil {
			return nil, false, tooDense(cmp.Or(context.Cause(p.ctx), q.Err()))
		}
	}
	all, err := p.minimize(chosen)
	return all, err == nil, tooDense(err)
}

// tooDense adds the next step to the limit of a search.
func tooDense(err error) error {
	if !errors.Is(err, sat.ErrLimit) {
		return err
	}
	return advice.Add(err, "the packages of the repositories depend on each other in too many ways: name versions in packages.install, or leave out a repository")
}

// minimize drops packages that later choices made unnecessary: cycles that
// nothing requires any longer, and packages that are not the only package that makes
// a clause true.
func (p *problem) minimize(chosen []int) ([]*entry, error) {
	for {
		p = p.only(chosen)
		q := p.compile()
		var ok bool
		if chosen, ok = p.walk(q, false); !ok || p.ctx.Err() != nil {
			return p.entries, cmp.Or(context.Cause(p.ctx), q.Err())
		}
		p = p.only(chosen)
		needed := p.indispensable()
		last := slices.IndexFunc(p.entries, func(e *entry) bool { return !needed[e] })
		if last < 0 {
			return p.entries, nil
		}
		chosen = chosen[:0]
		for i := range p.entries {
			if i != last {
				chosen = append(chosen, i+1)
			}
		}
	}
}

// only returns the problem with no other packages than these, which are a solution. It has no
// exclusions: no part of a solution breaks one.
func (p *problem) only(chosen []int) *problem {
	o := &problem{ctx: p.ctx, universe: p.universe, system: p.system, number: make(map[*entry]int, len(chosen)), preferred: p.preferred, sets: p.sets}
	for _, n := range chosen {
		o.entries = append(o.entries, p.entry(n))
		o.number[p.entry(n)] = len(o.entries)
	}
	left := map[*set]*set{}
	for _, c := range p.clauses {
		if c.positive() && !c.exclusive() && (c.by == nil || o.number[c.by] > 0) {
			o.keep(c, left)
		}
	}
	return o
}

// keep adds a clause with the packages of the problem, unless its conditions are false. The
// sets are shared, as before.
func (p *problem) keep(c clause, left map[*set]*set) {
	atoms := make([]atom, 0, len(c.atoms))
	for _, a := range c.atoms {
		if left[a.set] == nil {
			s := &set{}
			for _, e := range a.members {
				if p.number[e] > 0 {
					s.members = append(s.members, e)
				}
			}
			left[a.set] = s
		}
		a.set = left[a.set]
		if a.not && len(a.members) == 0 {
			return
		}
		atoms = append(atoms, a)
	}
	p.clauses = append(p.clauses, clause{atoms, c.reason})
}

// indispensable returns the packages that are the only one to make some clause true.
func (p *problem) indispensable() map[*entry]bool {
	only := map[*entry]bool{}
	for _, c := range p.clauses {
		var one *entry
		several := false
		for _, a := range c.atoms {
			for _, e := range a.members {
				if !a.not {
					several = several || one != nil && one != e
					one = e
				}
			}
		}
		if one != nil && !several {
			only[one] = true
		}
	}
	return only
}
