package rpm

import "slices"

// walk makes the choices of a question in dnf's order.
type walk struct {
	*question
	choice

	careful bool          // each choice asks the SAT solver whether a solution remains
	owned   [][]int       // by variable: the clauses that need a choice once it is true
	visited []bool        // by variable
	seen    int           // of the question's true literals
	taken   []int         // numbers, in the order in which they became true
	met     map[*set]bool // sets with a taken package
	open    []int         // clauses that may need a choice
	waiting []int         // clauses with a choice between different packages
	ok      bool
}

// walk makes all choices once. It returns false if a choice contradicts earlier ones. As in
// dnf's solver, choices between different packages come last, because other choices may decide
// them.
func (p *problem) walk(q *question, careful bool) ([]int, bool) {
	w := &walk{question: q, careful: careful, met: map[*set]bool{}}
	w.choice = choice{p, w.has, newWeak()}
	q.Reset()
	w.index()
	if w.ok = q.Propagate(); w.ok {
		w.follow()
	}
	w.finish()
	return w.taken, w.ok
}

// index opens the entries of lists, and finds the clauses of each variable.
func (w *walk) index() {
	variables := len(w.number)
	for _, l := range w.sets {
		variables = max(variables, l)
	}
	w.owned, w.visited = make([][]int, variables+1), make([]bool, variables+1)
	for i, c := range w.clauses {
		if c.exclusive() || !c.positive() {
			continue
		}
		if c.by == nil && !c.conditional() {
			w.open = append(w.open, i)
		}
		if c.by != nil {
			w.own(w.number[c.by], i)
		}
		for _, a := range c.atoms {
			if a.not {
				w.own(w.sets[a.set], i)
			}
		}
	}
}

func (w *walk) own(variable, clause int) { w.owned[variable] = append(w.owned[variable], clause) }

// follow takes the packages that became true, and opens the clauses that depend on them.
func (w *walk) follow() {
	all := w.True(w.seen)
	w.seen += len(all)
	for _, l := range all {
		if l < 0 || w.visited[l] {
			continue
		}
		w.visited[l] = true
		if l <= len(w.number) {
			w.taken = append(w.taken, l)
			w.weak.add(w.entry(l))
		}
		w.open = append(w.open, w.owned[l]...)
	}
}

// has reports whether a package is taken.
func (w *walk) has(e *entry) bool { return w.number[e] > 0 && w.visited[w.number[e]] }

// finish makes the open choices.
func (w *walk) finish() {
	for w.ok && w.ctx.Err() == nil && len(w.open)+len(w.waiting) > 0 {
		from := &w.open
		if len(w.open) == 0 {
			from = &w.waiting
		}
		i := (*from)[0]
		*from = (*from)[1:]
		c := w.clauses[i]
		candidates := w.candidates(c)
		switch {
		case len(candidates) == 0:
		case from == &w.open && c.kind != asked && len(w.prune(candidates)) > 1:
			w.waiting = append(w.waiting, i)
		default:
			w.choose(candidates)
			w.follow()
		}
	}
}

// candidates returns the packages that can make a clause true, best first. It returns none if
// the clause is true, or depends on an undecided condition.
func (w *walk) candidates(c clause) []int {
	if c.by != nil && w.Value(w.number[c.by]) <= 0 {
		return nil
	}
	var all []int
	seen := map[int]bool{}
	for _, a := range c.atoms {
		if a.not {
			if l := w.sets[a.set]; l == 0 || w.Value(l) <= 0 {
				return nil
			}
			continue
		}
		if w.met[a.set] {
			return nil
		}
		for _, e := range a.members {
			n := w.number[e]
			if n > 0 && w.Value(n) > 0 {
				w.met[a.set] = true
				return nil
			}
			if n == 0 || w.Value(n) < 0 || seen[n] {
				continue
			}
			if len(c.atoms) > 1 {
				seen[n] = true
			}
			all = append(all, n)
		}
	}
	w.steps += int64(len(all))
	sortStable(w.ctx, all, func(a, b int) int { return better(w.entry(a), w.entry(b), c.relation.Name) })
	return all
}

// choose takes the first possible candidate, in dnf's order.
func (w *walk) choose(candidates []int) {
	for len(candidates) > 0 {
		n := w.best(candidates)
		if !w.careful {
			w.ok = w.Assume(n)
			return
		}
		if w.possible(n) || slices.ContainsFunc(candidates, func(c int) bool { return w.Value(c) > 0 }) {
			return
		}
		if w.ok = w.Err() == nil; !w.ok {
			return
		}
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(c int) bool { return w.Value(c) != 0 })
	}
}

// possible takes a package if a solution remains. The last solution of the SAT solver has all
// that is taken: a package in it needs no question.
func (w *walk) possible(n int) bool {
	if w.Model(n) {
		return w.Assume(n)
	}
	w.Assume(n)
	ok, err := w.Satisfiable()
	w.seen = 0 // a learned clause may have decided packages
	if ok || err != nil {
		return ok
	}
	w.Withdraw()
	w.Assume(-n)
	return false
}
