package rpm

import "slices"

// walk keeps the choices and their consequences.
type walk struct {
	clauses []clause
	in      map[int][]int // by literal: the clauses that contain it
	value   []value       // by number
	taken   []int         // numbers, in the order of the choices
	open    []int         // clauses that may need a choice
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

// candidates returns the packages that can make a clause true. It returns none if
// the clause is true, or depends on an undecided condition.
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

// set makes a literal true, and everything that follows from it alone.
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

// look sets the last literal of a clause if all others are false.
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
