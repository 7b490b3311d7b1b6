package rpm

import (
	"slices"

	"github.com/crillab/gophersat/solver"
)

// satisfiable reports whether all clauses can be true together.
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

// solve chooses packages so that every clause is true. It takes the packages
// without an alternative first. Then it takes the best package for each need,
// in order, as long as a solution remains. It returns false if no solution
// exists.
//
// The best package nearly always leads to a solution. Only if the first walk
// fails does solve ask the SAT solver at each choice.
func (p *problem) solve() ([]*entry, bool) {
	chosen, ok := p.walk(func([]int) bool { return true })
	if !ok {
		if !p.satisfiable(p.clauses) {
			return nil, false
		}
		chosen, _ = p.walk(func(taken []int) bool { return p.satisfiable(p.clauses, taken...) })
	}
	chosen = p.minimize(chosen)
	all := make([]*entry, len(chosen))
	for i, n := range chosen {
		all[i] = p.entry(n)
	}
	return all, true
}

// walk makes all choices once. It stops and returns false if a choice
// contradicts earlier ones. As in dnf's solver, choices between different
// packages come last, because other choices may decide them.
func (p *problem) walk(possible func(taken []int) bool) ([]int, bool) {
	w := newWalk(p.clauses, len(p.entries))
	p.finish(w, possible)
	return w.taken, w.ok
}

// finish makes the open choices.
func (p *problem) finish(w *walk, possible func(taken []int) bool) {
	var waiting []int
	for w.ok && len(w.open)+len(waiting) > 0 {
		from := &w.open
		if len(w.open) == 0 {
			from = &waiting
		}
		i := (*from)[0]
		*from = (*from)[1:]
		c := p.clauses[i]
		candidates := w.candidates(c)
		switch {
		case len(candidates) == 0:
		case from == &w.open && c.kind != asked && len(choice{p, w.taken}.prune(candidates)) > 1:
			waiting = append(waiting, i)
		default:
			p.choose(w, candidates, possible)
		}
	}
}

// choose takes the first possible candidate, in dnf's order.
func (p *problem) choose(w *walk, candidates []int, possible func(taken []int) bool) {
	for len(candidates) > 0 {
		n := choice{p, w.taken}.best(candidates)
		if possible(append(slices.Clip(w.taken), n)) {
			w.set(n)
			return
		}
		w.set(-n)
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(l int) bool { return w.of(l) != unknown })
	}
}

// minimize drops packages that later choices made unnecessary: cycles that
// nothing requires any longer, and packages that are not the only package that makes
// a clause true.
func (p *problem) minimize(chosen []int) []int {
	for {
		chosen = p.within(chosen)
		needed := p.indispensable(chosen)
		last := slices.IndexFunc(chosen, func(n int) bool { return !needed[n] })
		if last < 0 {
			return chosen
		}
		chosen = slices.Delete(chosen, last, last+1)
	}
}

// within makes the choices again with only these packages.
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

// indispensable returns the packages that are the only one to make some clause true.
func (p *problem) indispensable(chosen []int) map[int]bool {
	in := make(map[int]bool, len(chosen))
	for _, n := range chosen {
		in[n] = true
	}
	only := map[int]bool{}
	for _, c := range p.clauses {
		count, by := 0, 0
		for _, l := range c.literals {
			if in[max(l, -l)] == (l > 0) {
				count++
				by = l
			}
		}
		if count == 1 && by > 0 {
			only[by] = true
		}
	}
	return only
}
