// Package sat decides whether clauses over numbered variables can all be true. It
// is a solver with conflict-driven learning in the style of MiniSat (Eén and
// Sörensson, SAT 2003), with the four things that the resolution of packages needs
// and a plain solver does not have:
//
//   - Any and Exclude, whose size grows with the members, not with the pairs or the
//     users of a set: ten thousand packages that exclude each other are one constraint;
//   - assumptions that stay between questions, for a caller that decides itself;
//   - the constraints from which a contradiction follows (Core);
//   - a context and a limit of steps, both also within one question.
//
// Variables are 1, 2, 3. A literal is a variable, or its negation: -1, -2, -3.
package sat

import (
	"context"
	"errors"
)

// ErrLimit reports that a question took more than Solver.Limit steps.
var ErrLimit = errors.New("the search took too many steps")

// None is the number of a constraint that Core does not return.
const None = -1

// Solver holds constraints and the current values. Its zero value is not usable.
type Solver struct {
	// Limit is the number of Steps after which a question fails with ErrLimit; 0 is no limit.
	Limit int64
	// Steps counts the visited literals: a measure of the work that does not depend on the machine.
	Steps int64
	// Conflicts counts the contradictions that the solver has learned from.
	Conflicts int

	ctx   context.Context
	err   error // of the context or the limit; the solver gives no more answers
	check int64 // the number of steps at which it looks at the context again

	watching   [][]watch // by literal: the clauses that it makes true if it is true
	inSets     [][]lit   // by literal: the sets that it is a member of
	sets       []*clause // by variable: the members, if the variable is a set
	exclusions []exclusion
	member     [][]int32 // by variable: exclusions with it as a member
	excluding  [][]place // by variable: exclusions that it causes

	value  []int8       // by literal: 1 true, -1 false, 0 unknown
	level  []int32      // by variable: the number of decisions before its value
	reason []constraint // by variable: why it has its value
	trail  []lit        // true literals in the order of their discovery
	head   int          // of the trail: those before it are propagated
	starts []int        // of the levels in the trail

	assumed []lit
	model   []bool // by variable: the last solution
	learning
	search
}

// New returns a solver without constraints for the variables 1 to n. It stops when ctx ends.
func New(ctx context.Context, n int) *Solver {
	s := &Solver{ctx: ctx}
	s.step = 1
	for range n + 1 { // 0 is no variable
		s.Add()
	}
	return s
}

// Add returns a new variable.
func (s *Solver) Add() int {
	v := len(s.level)
	s.watching, s.inSets = append(s.watching, nil, nil), append(s.inSets, nil, nil)
	s.value = append(s.value, 0, 0)
	s.sets, s.member, s.excluding = append(s.sets, nil), append(s.member, nil), append(s.excluding, nil)
	s.level, s.reason, s.seen = append(s.level, 0), append(s.reason, constraint{}), append(s.seen, false)
	s.add(v)
	return v
}

// lit is twice its variable, plus 1 for the negation.
type lit uint32

func literal(l int) lit {
	if l < 0 {
		return lit(-l)<<1 | 1
	}
	return lit(l) << 1
}

func (l lit) not() lit      { return l ^ 1 }
func (l lit) variable() int { return int(l >> 1) }

func (l lit) int() int {
	if l&1 == 1 {
		return -l.variable()
	}
	return l.variable()
}

// clause needs one true literal. The first two are watched: they are the last to become false.
type clause struct {
	literals []lit
	number   int32 // of the caller, or None
	derived  int32 // number of a learned clause plus 1; 0: of the caller
	lbd      int32 // the number of its levels when it was learned: less is better
	next     int32 // where the search for a literal to watch begins
	dropped  bool
}

type watch struct {
	clause  *clause
	blocker lit // a literal of the clause: if it is true, so is the clause
}

// exclusion is that no causing variable is true together with another member.
type exclusion struct {
	members []int32
	causing []int32
	numbers []int32 // of the caller, for each causing variable
}

// place is a causing variable of an exclusion.
type place struct{ exclusion, at int32 }

// constraint is a clause, or the two literals of a part of a set or an exclusion.
type constraint struct {
	clause *clause
	a, b   lit
	number int32
}

func (c constraint) some() bool { return c.clause != nil || c.a != 0 }

func (c constraint) literals(pair *[2]lit) []lit {
	if c.clause != nil {
		return c.clause.literals
	}
	pair[0], pair[1] = c.a, c.b
	return pair[:]
}

// Clause adds a clause. Its number is for Core.
func (s *Solver) Clause(number int, literals ...int) {
	c := &clause{number: int32(number), literals: make([]lit, 0, len(literals))}
	for _, l := range literals {
		c.literals = append(c.literals, literal(l))
	}
	s.attach(c)
}

// attach watches a new clause. Without a decision, some of its literals may already be false.
func (s *Solver) attach(c *clause) {
	s.Steps += int64(len(c.literals)) + 1
	possible := 0
	for i, l := range c.literals {
		if s.value[l] >= 0 && possible < 2 {
			c.literals[possible], c.literals[i] = c.literals[i], c.literals[possible]
			possible++
		}
	}
	if len(c.literals) > 1 {
		s.watch(c)
	}
	switch {
	case possible == 0:
		s.contradicts(constraint{clause: c})
	case possible == 1 && s.value[c.literals[0]] == 0:
		s.set(c.literals[0], constraint{clause: c})
	}
}

func (s *Solver) watch(c *clause) {
	c.next = 2
	for i := range 2 {
		l := c.literals[i]
		s.watching[l] = append(s.watching[l], watch{c, c.literals[1-i]})
	}
}

// Any makes the variable set true if and only if one of the members is. The members are
// literals.
func (s *Solver) Any(set int, members []int) {
	c := &clause{number: None, literals: make([]lit, 0, len(members)+1)}
	c.literals = append(c.literals, literal(-set))
	for _, m := range members {
		l := literal(m)
		c.literals = append(c.literals, l)
		s.inSets[l] = append(s.inSets[l], literal(set))
	}
	s.sets[set] = &clause{literals: append([]lit(nil), c.literals[1:]...)}
	s.attach(c)
}

// Exclude makes false, for each causing variable that is true, all members except itself.
// numbers are the numbers of the causing variables for Core. It needs no order: a member
// that is true makes the causing variables false.
func (s *Solver) Exclude(members, causing, numbers []int) {
	at := int32(len(s.exclusions))
	x := exclusion{make([]int32, len(members)), make([]int32, len(causing)), make([]int32, len(causing))}
	for i, m := range members {
		x.members[i] = int32(m)
		s.member[m] = append(s.member[m], at)
	}
	for i, c := range causing {
		x.causing[i], x.numbers[i] = int32(c), int32(numbers[i])
		s.excluding[c] = append(s.excluding[c], place{at, int32(i)})
	}
	s.Steps += int64(len(members) + len(causing))
	s.exclusions = append(s.exclusions, x)
}

// Err returns why the solver stopped before an answer: the context's cause, or ErrLimit.
func (s *Solver) Err() error { return s.err }

// Value returns 1 if the literal is true, -1 if it is false, 0 if that is open.
func (s *Solver) Value(l int) int { return int(s.value[literal(l)]) }

// True returns the true literals in the order in which they became true.
func (s *Solver) True(from int) []int {
	all := make([]int, 0, len(s.trail)-from)
	for _, l := range s.trail[from:] {
		all = append(all, l.int())
	}
	return all
}

// Model reports whether a variable is true in the last solution that Satisfiable found.
func (s *Solver) Model(v int) bool { return v < len(s.model) && s.model[v] }
