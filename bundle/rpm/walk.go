package rpm

import (
	"cmp"
	"slices"
)

// walk makes the choices of a question in dnf's order.
type walk struct {
	*question
	p       *problem
	careful bool    // each choice asks the SAT solver whether a solution remains
	owned   [][]int // by variable: the clauses that need a choice once it is true
	visited []bool  // by variable
	seen    int     // of the question's true literals
	taken   []int   // numbers, in the order in which they became true
	weak    weak
	met     map[*set]bool // sets with a taken package
	open    []int         // clauses that may need a choice
	waiting []int         // clauses with a choice between different packages
	ok      bool
}

// walk makes all choices once. It returns false if a choice contradicts earlier ones. As in
// dnf's solver, choices between different packages come last, because other choices may decide
// them.
func (p *problem) walk(q *question, careful bool) ([]int, bool) {
	w := &walk{question: q, p: p, careful: careful, weak: newWeak(), met: map[*set]bool{}}
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

func (w *walk) entry(n int) *entry { return w.p.entries[n-1] }

// finish makes the open choices.
func (w *walk) finish() {
	for w.ok && len(w.open)+len(w.waiting) > 0 {
		from := &w.open
		if len(w.open) == 0 {
			from = &w.waiting
		}
		i := (*from)[0]
		*from = (*from)[1:]
		candidates := w.candidates(w.clauses[i])
		switch {
		case len(candidates) == 0:
		case from == &w.open && w.differ(candidates):
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
	ordered := len(c.atoms) == 1 && c.atoms[0].ordered
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
	w.p.steps += int64(len(all))
	if !ordered {
		slices.SortStableFunc(all, func(a, b int) int { return better(w.entry(a), w.entry(b), c.relation.Name) })
	}
	return all
}

// differ reports whether the candidates have different names.
func (w *walk) differ(candidates []int) bool {
	return slices.ContainsFunc(candidates, func(n int) bool { return w.entry(n).Name != w.entry(candidates[0]).Name })
}

// choose takes the first possible candidate in dnf's order: packages that the
// chosen packages recommend, then packages that they suggest (even though dnf
// installs no weak dependencies), then packages without a newer version.
func (w *walk) choose(candidates []int) {
	type choice struct {
		number, preference int
		outdated           bool
	}
	choices := make([]choice, 0, len(candidates))
	for _, n := range candidates {
		e := w.entry(n)
		choices = append(choices, choice{n, w.preference(e), w.p.universe.outdated(e)})
	}
	slices.SortStableFunc(choices, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.preference, a.preference), compareBool(a.outdated, b.outdated))
	})
	for _, c := range choices {
		switch {
		case w.Value(c.number) > 0: // an earlier question decided it
			return
		case w.Value(c.number) < 0:
		case !w.careful:
			w.ok = w.Assume(c.number)
			return
		case w.possible(c.number):
			return
		}
		if w.Err() != nil {
			w.ok = false
			return
		}
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

// preference is 3 for a preferred package, 2 if a taken package recommends it, 1 if
// a taken package suggests it.
func (w *walk) preference(e *entry) int {
	switch {
	case w.p.preferred[e]:
		return 3
	case meets(w.weak.recommended, e):
		return 2
	case meets(w.weak.suggested, e):
		return 1
	}
	return 0
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
