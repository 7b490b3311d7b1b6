package rpm

import (
	"cmp"
	"slices"

	"github.com/crillab/gophersat/solver"
)

// satisfiable reports whether all clauses can hold at once.
func (p *problem) satisfiable(clauses []clause, more ...int) bool {
	cnf := make([][]int, 0, len(clauses)+len(more))
	for _, c := range clauses {
		if len(c.literals) == 0 {
			return false
		}
		cnf = append(cnf, c.literals)
	}
	for _, literal := range more {
		cnf = append(cnf, []int{literal})
	}
	question := solver.ParseSliceNb(cnf, len(p.entries))
	return question.Status != solver.Unsat && solver.New(question).Solve() == solver.Sat
}

// solve chooses packages so that every clause holds: what has no alternative
// first, then for each need, in the order they come up, the best package that
// leaves a solution. False when there is none.
//
// Mostly the best package always fits. Only when it turns out at the end that
// it did not, the solver is asked at each choice.
func (p *problem) solve() ([]*entry, bool) {
	chosen, ok := p.walk(func([]int) bool { return true })
	if !ok {
		if !p.satisfiable(p.clauses) {
			return nil, false
		}
		chosen, _ = p.walk(func(taken []int) bool { return p.satisfiable(p.clauses, taken...) })
	}
	chosen = p.lessen(chosen)
	all := make([]*entry, len(chosen))
	for i, n := range chosen {
		all[i] = p.entry(n)
	}
	return all, true
}

// walk is one way through the choices. It ends early, and is not ok, where a
// choice contradicts earlier ones. As in dnf's solver a choice between
// different packages waits until nothing else is left: by then it may be
// made already.
func (p *problem) walk(possible func(taken []int) bool) ([]int, bool) {
	w := newWalk(p.clauses, len(p.entries))
	p.finish(w, possible)
	return w.taken, w.ok
}

// finish makes the choices that are still open.
func (p *problem) finish(w *walk, possible func(taken []int) bool) {
	var waiting []int
	for w.ok && len(w.open)+len(waiting) > 0 {
		from := &w.open
		if len(w.open) == 0 {
			from = &waiting
		}
		i := (*from)[0]
		*from = (*from)[1:]
		candidates := w.candidates(p.clauses[i])
		switch {
		case len(candidates) == 0:
		case from == &w.open && p.differ(candidates):
			waiting = append(waiting, i)
		default:
			p.choose(w, candidates, possible)
		}
	}
}

// differ reports whether the candidates are not just versions of one package.
func (p *problem) differ(candidates []int) bool {
	return slices.ContainsFunc(candidates, func(n int) bool { return p.entry(n).Name != p.entry(candidates[0]).Name })
}

// choose takes the first candidate that is possible, in dnf's order: what
// packages chosen so far recommend, then what they suggest, even where dnf
// installs none of these; then what is not an old version of something newer.
func (p *problem) choose(w *walk, candidates []int, possible func(taken []int) bool) {
	slices.SortStableFunc(candidates, func(a, b int) int {
		a1, b1 := p.entry(a), p.entry(b)
		return cmp.Or(
			cmp.Compare(p.favour(w.taken, b1), p.favour(w.taken, a1)),
			compareBool(p.universe.outdated(a1), p.universe.outdated(b1)),
		)
	})
	for _, n := range candidates {
		if possible(append(slices.Clip(w.taken), n)) {
			w.set(n)
			return
		}
		w.set(-n)
	}
}

// favour is 3 for what is liked, 2 for what a package taken recommends, 1 for
// what one suggests.
func (p *problem) favour(taken []int, e *entry) int {
	if p.liked[e] {
		return 3
	}
	favour := 0
	for _, n := range taken {
		if slices.ContainsFunc(p.entry(n).recommends, e.offers) {
			return 2
		}
		if slices.ContainsFunc(p.entry(n).suggests, e.offers) {
			favour = 1
		}
	}
	return favour
}

// lessen leaves out again what later choices have made needless: circles that
// nothing asks for any more, and packages that no clause holds by alone.
func (p *problem) lessen(chosen []int) []int {
	for {
		chosen = p.within(chosen)
		needed := p.onlyOnes(chosen)
		last := slices.IndexFunc(chosen, func(n int) bool { return !needed[n] })
		if last < 0 {
			return chosen
		}
		chosen = slices.Delete(chosen, last, last+1)
	}
}

// within makes the choices again, now from just these packages.
func (p *problem) within(chosen []int) []int {
	w := newWalk(p.clauses, len(p.entries))
	for i := range p.entries {
		if n := i + 1; w.value[n] == unknown && !slices.Contains(chosen, n) {
			w.set(-n)
		}
	}
	p.finish(w, func([]int) bool { return true })
	return w.taken
}

// onlyOnes are the packages that some clause holds by alone.
func (p *problem) onlyOnes(chosen []int) map[int]bool {
	in := make(map[int]bool, len(chosen))
	for _, n := range chosen {
		in[n] = true
	}
	only := map[int]bool{}
	for _, c := range p.clauses {
		holds, by := 0, 0
		for _, l := range c.literals {
			if in[max(l, -l)] == (l > 0) {
				holds++
				by = l
			}
		}
		if holds == 1 && by > 0 {
			only[by] = true
		}
	}
	return only
}
