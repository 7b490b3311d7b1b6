package rpm

import "slices"

// walk keeps what follows from the choices made so far.
type walk struct {
	clauses []clause
	in      map[int][]int // by literal: the clauses that lose it when its opposite is set
	value   []value       // by number
	taken   []int         // numbers, as they were set
	open    []int         // clauses that may be due
	ok      bool
}

type value int8

const (
	unknown value = iota
	yes
	no
)

func newWalk(clauses []clause, n int) *walk {
	w := &walk{clauses: clauses, in: map[int][]int{}, value: make([]value, n+1), ok: true}
	for i, c := range clauses {
		for _, l := range c.literals {
			w.in[l] = append(w.in[l], i)
		}
	}
	for i, c := range clauses {
		w.look(i)
		if !slices.ContainsFunc(c.literals, func(l int) bool { return l < 0 }) {
			w.open = append(w.open, i)
		}
	}
	return w
}

// candidates are the packages to choose from so that a clause holds; none when
// it does, or while it depends on a condition.
func (w *walk) candidates(c clause) []int {
	var all []int
	for _, l := range c.literals {
		switch {
		case w.of(l) == yes || l < 0 && w.of(l) == unknown:
			return nil
		case w.of(l) == unknown:
			all = append(all, l)
		}
	}
	return all
}

// set notes a literal and everything that follows from it alone.
func (w *walk) set(l int) {
	n := max(l, -l)
	w.value[n] = no
	if l > 0 {
		w.value[n] = yes
		w.taken = append(w.taken, n)
	}
	for _, i := range w.in[-l] {
		w.look(i)
	}
	if l > 0 {
		w.open = append(w.open, w.in[-l]...)
	}
}

// look sets the literal that is left of a clause when all others are lost.
func (w *walk) look(i int) {
	left, found := 0, 0
	for _, l := range w.clauses[i].literals {
		switch w.of(l) {
		case yes:
			return
		case unknown:
			left = l
			found++
		}
	}
	switch found {
	case 0:
		w.ok = false
	case 1:
		w.set(left)
	}
}

func (w *walk) of(l int) value {
	if l > 0 || w.value[-l] == unknown {
		return w.value[max(l, -l)]
	}
	return yes + no - w.value[-l]
}
