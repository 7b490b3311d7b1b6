package rpm

import (
	"slices"

	"airgap.dev/airgap/bundle/rpm/sat"
)

// question is clauses for the SAT solver. A package is a variable. So is a set of several
// packages, however many clauses need it.
type question struct {
	*sat.Solver
	clauses []clause
	number  map[*entry]int // of the packages; others are never installed
	sets    map[*set]int   // the literal of a set; 0 if none of its packages has a number
}

// maxSteps limits the search for an answer to some minutes.
const maxSteps = 20_000_000_000

// compile asks for a solution of all clauses.
func (p *problem) compile() *question {
	return p.question(p.number, nil)
}

// question asks for a solution of some clauses, all if which is nil. The solver knows a clause
// by its index.
func (p *problem) question(number map[*entry]int, which []int) *question {
	q := &question{sat.New(p.ctx, len(number)), p.clauses, number, map[*set]int{}}
	q.Limit = maxSteps
	exclusions, order := map[*set]*exclusion{}, []*set(nil)
	add := func(i int) {
		c := p.clauses[i]
		if !c.exclusive() {
			q.add(i, c)
			return
		}
		s := c.atoms[0].set
		if exclusions[s] == nil {
			exclusions[s] = &exclusion{}
			order = append(order, s)
		}
		exclusions[s].add(q, i, c)
	}
	if which == nil {
		for i := range p.clauses {
			add(i)
		}
	}
	for _, i := range which {
		add(i)
	}
	for _, s := range order {
		if members := q.numbers(s); len(members) > 0 {
			q.Exclude(members, exclusions[s].causing, exclusions[s].clauses)
		}
	}
	return q
}

// exclusion is the packages that exclude those of a set, with their clauses.
type exclusion struct{ causing, clauses []int }

func (x *exclusion) add(q *question, i int, c clause) {
	causing := []*entry{c.by}
	if c.kind == versions {
		causing = c.atoms[0].members
	}
	for _, e := range causing {
		if n := q.number[e]; n > 0 && (c.by != nil || !e.parallel() || sameBuild(c.atoms[0].members)) {
			x.causing, x.clauses = append(x.causing, n), append(x.clauses, i)
		}
	}
}

func (q *question) add(i int, c clause) {
	literals := make([]int, 0, len(c.atoms)+1)
	if c.by != nil {
		literals = append(literals, -q.number[c.by])
	}
	for _, a := range c.atoms {
		l := q.literal(a.set)
		switch {
		case l == 0 && a.not:
			return // it is true
		case a.not:
			l = -l
		}
		if l != 0 {
			literals = append(literals, l)
		}
	}
	q.Clause(i, literals...)
}

// literal returns the literal that one of the packages is installed, or 0 if that cannot be.
func (q *question) literal(s *set) int {
	if l, known := q.sets[s]; known {
		return l
	}
	l := 0
	switch numbers := q.numbers(s); len(numbers) {
	case 0:
	case 1:
		l = numbers[0]
	default:
		l = q.Add()
		q.Any(l, numbers)
	}
	q.sets[s] = l
	return l
}

// numbers returns the numbers of the packages that have one.
func (q *question) numbers(s *set) []int {
	all := make([]int, 0, len(s.members))
	for _, e := range s.members {
		if n := q.number[e]; n > 0 {
			all = append(all, n)
		}
	}
	q.Steps += int64(len(s.members))
	return all
}

// part asks for a solution of some clauses, with no other packages than theirs.
func (p *problem) part(which []int) *question {
	number := map[*entry]int{}
	add := func(e *entry) {
		if number[e] == 0 {
			number[e] = len(number) + 1
		}
	}
	for _, i := range which {
		c := p.clauses[i]
		if c.by != nil {
			add(c.by)
		}
		for _, a := range c.atoms {
			if !a.not {
				p.steps += int64(len(a.members))
				for _, e := range a.members {
					add(e)
				}
			}
		}
	}
	return p.question(number, which)
}

// positive reports whether a package can make the clause true.
func (c clause) positive() bool {
	return slices.ContainsFunc(c.atoms, func(a atom) bool { return !a.not && len(a.members) > 0 })
}
