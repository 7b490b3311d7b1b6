package sat

import (
	"cmp"
	"slices"
)

// learning is the memory of the contradictions so far.
type learning struct {
	learned     []*clause
	derivations []derivation // of all learned clauses, also of dropped ones
	seen        []bool       // by variable
	marked      []int        // the variables in seen
	final       *constraint  // false without any decision: there is no solution
}

// derivation has all that a learned clause follows from.
type derivation struct {
	numbers []int32 // constraints of the caller
	learned []int32 // other learned clauses
	roots   []int32 // variables with a value that follows without a decision
}

func (d *derivation) use(c constraint) {
	switch {
	case c.clause == nil && c.number != None:
		d.numbers = append(d.numbers, c.number)
	case c.clause != nil && c.clause.derived > 0:
		d.learned = append(d.learned, c.clause.derived-1)
	case c.clause != nil && c.clause.number != None:
		d.numbers = append(d.numbers, c.clause.number)
	}
}

// contradicts records that a constraint is false without any decision.
func (s *Solver) contradicts(c constraint) {
	if s.final == nil {
		s.final = &c
	}
}

// learn derives a clause from a false constraint: the first unique implication point. It
// goes back to the level where the clause makes its first literal true, and sets it.
func (s *Solver) learn(broken constraint) {
	s.Conflicts++
	literals, why := s.resolve(broken)
	level := 0
	for i := 1; i < len(literals); i++ {
		if at := int(s.level[literals[i].variable()]); at > level {
			level = at
			literals[1], literals[i] = literals[i], literals[1]
		}
	}
	s.derivations = append(s.derivations, why)
	c := &clause{literals: literals, number: None, derived: int32(len(s.derivations)), lbd: s.levels(literals)}
	s.back(level)
	if len(literals) > 1 {
		s.watch(c)
		s.learned = append(s.learned, c)
	}
	s.set(literals[0], constraint{clause: c})
	s.decay()
}

// resolve replaces the literals of a false constraint by their reasons until one literal of
// the current level is left, which comes first.
func (s *Solver) resolve(c constraint) ([]lit, derivation) {
	literals, why := []lit{0}, derivation{}
	var pair [2]lit
	open, at := 0, len(s.trail)
	for {
		why.use(c)
		for _, l := range c.literals(&pair) {
			v := l.variable()
			s.Steps++
			if s.seen[v] {
				continue
			}
			s.mark(v)
			switch s.level[v] {
			case 0:
				why.roots = append(why.roots, int32(v))
			case int32(len(s.starts)):
				open++
				s.bump(v)
			default:
				literals = append(literals, l)
				s.bump(v)
			}
		}
		for at--; !s.seen[s.trail[at].variable()]; at-- {
			s.Steps++
		}
		if open--; open == 0 {
			literals[0] = s.trail[at].not()
			break
		}
		c = s.reason[s.trail[at].variable()]
	}
	literals = s.shorten(literals, &why)
	s.unmark()
	return literals, why
}

func (s *Solver) mark(v int) {
	s.seen[v] = true
	s.marked = append(s.marked, v)
}

func (s *Solver) unmark() {
	for _, v := range s.marked {
		s.seen[v] = false
	}
	s.marked = s.marked[:0]
}

// shorten drops literals that follow from the others.
func (s *Solver) shorten(literals []lit, why *derivation) []lit {
	kept := literals[:1]
	var pair [2]lit
	for _, l := range literals[1:] {
		c := s.reason[l.variable()]
		follows := c.some()
		if follows {
			for _, o := range c.literals(&pair) {
				s.Steps++
				if v := o.variable(); !s.seen[v] && s.level[v] > 0 {
					follows = false
					break
				}
			}
		}
		if !follows {
			kept = append(kept, l)
			continue
		}
		why.use(c)
		for _, o := range c.literals(&pair) {
			if v := o.variable(); s.level[v] == 0 && !s.seen[v] {
				s.mark(v)
				why.roots = append(why.roots, int32(v))
			}
		}
	}
	return kept
}

// levels is the number of different levels of the literals.
func (s *Solver) levels(literals []lit) int32 {
	all := make([]int32, 0, len(literals))
	for _, l := range literals {
		all = append(all, s.level[l.variable()])
	}
	slices.Sort(all)
	return int32(len(slices.Compact(all)))
}

// forget drops the half of the learned clauses that is least useful. Clauses with two
// levels stay, and those that are the reason of a value.
func (s *Solver) forget() {
	slices.SortStableFunc(s.learned, func(a, b *clause) int { return cmp.Compare(a.lbd, b.lbd) })
	half := len(s.learned) / 2
	kept := s.learned[:half]
	for _, c := range s.learned[half:] {
		if c.lbd <= 2 || s.reason[c.literals[0].variable()].clause == c {
			kept = append(kept, c)
			continue
		}
		c.dropped = true
	}
	clear(s.learned[len(kept):])
	s.learned = kept
}

// Core returns the numbers of constraints that contradict each other, after Satisfiable
// returned false without an assumption. They are sorted. A smaller set may exist.
func (s *Solver) Core() []int {
	if s.final == nil {
		return nil
	}
	var why derivation
	numbers, learned := map[int32]bool{}, map[int32]bool{}
	s.trace(&why, *s.final)
	for len(why.numbers)+len(why.learned)+len(why.roots) > 0 {
		next := derivation{}
		for _, n := range why.numbers {
			numbers[n] = true
		}
		for _, n := range why.learned {
			if !learned[n] {
				learned[n] = true
				next.join(s.derivations[n])
			}
		}
		for _, v := range why.roots {
			if !s.seen[v] {
				s.mark(int(v))
				s.trace(&next, s.reason[v])
			}
		}
		why = next
	}
	s.unmark()
	all := make([]int, 0, len(numbers))
	for n := range numbers {
		all = append(all, int(n))
	}
	slices.Sort(all)
	return all
}

func (d *derivation) join(o derivation) {
	d.numbers, d.learned, d.roots = append(d.numbers, o.numbers...), append(d.learned, o.learned...), append(d.roots, o.roots...)
}

// trace adds a constraint, and why its literals have their values.
func (s *Solver) trace(d *derivation, c constraint) {
	var pair [2]lit
	d.use(c)
	for _, l := range c.literals(&pair) {
		if l != 0 {
			d.roots = append(d.roots, int32(l.variable()))
		}
	}
}
