package sat

import "context"

// interval is the number of steps between two looks at the context: some milliseconds.
const interval = 1 << 18

// stopped looks at the context and the limit from time to time.
func (s *Solver) stopped() bool {
	if s.err != nil {
		return true
	}
	if s.Steps < s.check {
		return false
	}
	s.check = s.Steps + interval
	if s.Limit > 0 {
		s.check = min(s.check, s.Limit+1)
	}
	if s.ctx.Err() != nil {
		s.err = context.Cause(s.ctx)
	} else if s.Limit > 0 && s.Steps > s.Limit {
		s.err = ErrLimit
	}
	return s.err != nil
}

// set makes a literal true that has no value yet.
func (s *Solver) set(l lit, why constraint) {
	s.value[l], s.value[l.not()] = 1, -1
	v := l.variable()
	s.level[v], s.reason[v] = int32(len(s.starts)), why
	s.trail = append(s.trail, l)
}

// require makes a literal true, and reports false if it is false already.
func (s *Solver) require(l lit, why constraint) bool {
	if s.value[l] == 0 {
		s.set(l, why)
	}
	return s.value[l] > 0
}

// propagate makes everything true that follows from the values so far. It returns a
// constraint that is false, if there is one.
func (s *Solver) propagate() constraint {
	for s.head < len(s.trail) {
		l := s.trail[s.head]
		s.head++
		if broken := s.visitSets(l); broken.some() {
			return broken
		}
		if broken := s.visitExclusions(l); broken.some() {
			return broken
		}
		if broken := s.visitClauses(l.not()); broken.some() {
			return broken
		}
		if s.stopped() {
			break
		}
	}
	return constraint{}
}

// visitSets makes the sets true that contain l, or if l is the negation of a set, all its
// members false.
func (s *Solver) visitSets(l lit) constraint {
	for _, set := range s.inSets[l] {
		s.Steps++
		if why := (constraint{a: set, b: l.not(), number: None}); !s.require(set, why) {
			return why
		}
	}
	if members := s.sets[l.variable()]; members != nil && l&1 == 1 {
		s.Steps += int64(len(members.literals))
		for _, m := range members.literals {
			if why := (constraint{a: m.not(), b: l.not(), number: None}); !s.require(m.not(), why) {
				return why
			}
		}
	}
	return constraint{}
}

func (s *Solver) visitExclusions(l lit) constraint {
	if l&1 == 1 {
		return constraint{}
	}
	v := l.variable()
	for _, at := range s.member[v] {
		x := &s.exclusions[at]
		s.Steps += int64(len(x.causing))
		for i, c := range x.causing {
			if why := (constraint{a: literal(-int(c)), b: l.not(), number: x.numbers[i]}); int(c) != v && !s.require(why.a, why) {
				return why
			}
		}
	}
	for _, p := range s.excluding[v] {
		x := &s.exclusions[p.exclusion]
		s.Steps += int64(len(x.members))
		for _, m := range x.members {
			if why := (constraint{a: literal(-int(m)), b: l.not(), number: x.numbers[p.at]}); int(m) != v && !s.require(why.a, why) {
				return why
			}
		}
	}
	return constraint{}
}

// visitClauses looks at the clauses that watch l, which is false now. Each watches another
// literal from now on, or its other watched literal becomes true.
func (s *Solver) visitClauses(l lit) constraint {
	list := s.watching[l]
	kept := list[:0]
	for i, w := range list {
		s.Steps++
		if s.value[w.blocker] > 0 {
			kept = append(kept, w)
			continue
		}
		c := w.clause
		if c.dropped {
			continue
		}
		if c.literals[0] == l {
			c.literals[0], c.literals[1] = c.literals[1], l
		}
		first := c.literals[0]
		if s.value[first] <= 0 && s.move(c) {
			continue
		}
		kept = append(kept, watch{c, first})
		if why := (constraint{clause: c}); !s.require(first, why) {
			kept = append(kept, list[i+1:]...)
			s.watching[l] = kept
			return why
		}
	}
	clear(list[len(kept):])
	s.watching[l] = kept
	return constraint{}
}

// move lets a clause watch a literal that is not false in place of its second one. It begins
// where the last search ended: a clause of thousands of literals becomes false one by one.
func (s *Solver) move(c *clause) bool {
	n := int32(len(c.literals))
	for i := c.next; i < n; i++ {
		if s.moveTo(c, i) {
			return true
		}
	}
	for i := int32(2); i < min(c.next, n); i++ {
		if s.moveTo(c, i) {
			return true
		}
	}
	return false
}

func (s *Solver) moveTo(c *clause, i int32) bool {
	s.Steps++
	l := c.literals[i]
	if s.value[l] < 0 {
		return false
	}
	c.literals[1], c.literals[i], c.next = l, c.literals[1], i
	s.watching[l] = append(s.watching[l], watch{c, c.literals[0]})
	return true
}

// decide begins a level with a literal.
func (s *Solver) decide(l lit) {
	s.starts = append(s.starts, len(s.trail))
	if s.value[l] == 0 {
		s.set(l, constraint{})
	}
}

// back takes back all levels above level.
func (s *Solver) back(level int) {
	if level < 0 || len(s.starts) <= level {
		return
	}
	for _, l := range s.trail[s.starts[level]:] {
		s.value[l], s.value[l.not()] = 0, 0
		s.release(l)
	}
	s.trail = s.trail[:s.starts[level]]
	s.starts = s.starts[:level]
	s.head = len(s.trail)
}
