package rpm

import (
	"cmp"
	"context"
	"slices"

	"airgap.dev/airgap/bundle/rpm/sat"
)

// set is packages of which a clause needs one, or none. Clauses with the same requirement
// share it, so that dense metadata needs no more memory than its sets.
type set struct {
	members   []*entry
	installed bool // an installed package belongs to it too

	watched  bool // as a condition
	possible bool // a condition that can become true: one of the members has a number
	waiting  []*pending
}

// sets are the sets of one problem.
type sets struct {
	simple    map[Capability]*set
	grouped   map[string]*set // by the expression
	obsoleted map[Capability]*set
	excepted  map[exception]*set
}

type exception struct {
	from *set
	not  *entry
}

func newSets() sets {
	return sets{map[Capability]*set{}, map[string]*set{}, map[Capability]*set{}, map[exception]*set{}}
}

// set returns the packages that satisfy a capability, or all terms of a set.
func (p *problem) set(x expression) (*set, error) {
	if x.op == "" {
		if s := p.sets.simple[x.Capability]; s != nil {
			return s, nil
		}
		s, err := p.newSet(x)
		if err == nil {
			p.sets.simple[x.Capability] = s
		}
		return s, err
	}
	name := x.String()
	if s := p.sets.grouped[name]; s != nil {
		return s, nil
	}
	s, err := p.newSet(x)
	if err == nil {
		p.sets.grouped[name] = s
	}
	return s, err
}

func (p *problem) newSet(x expression) (*set, error) {
	before := p.universe.looked
	defer func() { p.steps += 1 + p.universe.looked - before }()
	switch {
	case p.ctx.Err() != nil:
		return nil, context.Cause(p.ctx)
	case p.steps > maxSteps:
		return nil, tooDense(sat.ErrLimit)
	}
	there, err := p.system.providers(p.ctx, p.universe, x)
	if err != nil || len(there) > 0 {
		return &set{installed: true}, err
	}
	members, err := p.universe.satisfying(p.ctx, x)
	return &set{members: members}, err
}

// obsoleted returns the packages that a package with this obsoletes replaces.
func (p *problem) obsoleted(c Capability) *set {
	s := p.sets.obsoleted[c]
	if s == nil {
		s = &set{}
		for _, o := range p.universe.byName[c.Name] {
			if self(o.NEVRA).satisfies(c) {
				s.members = append(s.members, o)
			}
		}
		p.steps += 1 + int64(len(s.members))
		p.sets.obsoleted[c] = s
	}
	return s
}

// except returns a set without one of its members.
func (p *problem) except(s *set, e *entry) *set {
	key := exception{s, e}
	if p.sets.excepted[key] == nil {
		members := slices.DeleteFunc(slices.Clone(s.members), func(m *entry) bool { return m == e })
		p.steps += int64(len(members))
		p.sets.excepted[key] = &set{members: members}
	}
	return p.sets.excepted[key]
}

// later has the clauses with conditions. They come after all others, in the order of their
// packages.
type later struct {
	clauses  []numbered
	count    int
	ready    []*pending
	watching map[*entry][]*set // the sets that may become possible with a package
}

type numbered struct {
	at int
	clause
}

// pending is a clause that waits until its conditions are possible.
type pending struct {
	numbered
	missing int // conditions that are not possible yet
}

func newLater() later { return later{watching: map[*entry][]*set{}} }

func (l *later) next() int {
	l.count++
	return l.count
}

func (l *later) add(at int, c clause) { l.clauses = append(l.clauses, numbered{at, c}) }

func (l *later) sorted() []clause {
	slices.SortStableFunc(l.clauses, func(a, b numbered) int { return cmp.Compare(a.at, b.at) })
	all := make([]clause, 0, len(l.clauses))
	for _, c := range l.clauses {
		all = append(all, c.clause)
	}
	l.clauses = nil
	return all
}

// wait keeps a clause until each of its conditions has a numbered package.
func (l *later) wait(c clause, number map[*entry]int) {
	w := &pending{numbered: numbered{l.next(), c}}
	for _, a := range c.atoms {
		if a.not && !l.watch(a.set, number) {
			a.waiting = append(a.waiting, w)
			w.missing++
		}
	}
	if w.missing == 0 {
		l.ready = append(l.ready, w)
	}
}

// watch reports whether a condition can become true. If not, it may later.
func (l *later) watch(s *set, number map[*entry]int) bool {
	if s.watched {
		return s.possible
	}
	s.watched = true
	if s.possible = slices.ContainsFunc(s.members, func(e *entry) bool { return number[e] > 0 }); !s.possible {
		for _, e := range s.members {
			l.watching[e] = append(l.watching[e], s)
		}
	}
	return s.possible
}

// wake makes the conditions possible that a newly numbered package satisfies.
func (l *later) wake(e *entry) {
	for _, s := range l.watching[e] {
		if s.possible {
			continue
		}
		s.possible = true
		for _, w := range s.waiting {
			if w.missing--; w.missing == 0 {
				l.ready = append(l.ready, w)
			}
		}
		s.waiting = nil
	}
	delete(l.watching, e)
}

// activate adds the clauses whose conditions became possible. It returns false if there are none.
func (p *problem) activate() bool {
	ready := p.later.ready
	p.later.ready = nil
	slices.SortStableFunc(ready, func(a, b *pending) int { return cmp.Compare(a.at, b.at) })
	for _, w := range ready {
		for _, a := range w.atoms {
			if !a.not {
				for _, e := range a.members {
					p.add(e)
				}
			}
		}
		p.later.add(w.at, w.clause)
	}
	return len(ready) > 0
}
