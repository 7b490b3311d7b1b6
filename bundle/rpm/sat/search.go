package sat

// Figures of the search, as usual for such solvers.
const (
	decay       = 0.95
	enormous    = 1e100
	restartUnit = 100  // conflicts
	firstLimit  = 4000 // learned clauses before the first forget
	moreClauses = 1000 // after each forget
)

// search chooses the variable that took part in the latest contradictions, and gives it the
// value that it had last, at first false: nothing is installed without a reason.
type search struct {
	activity []float64
	step     float64
	phase    []bool // by variable
	heap     []int32
	position []int32 // in the heap, -1: not in it
	restarts int
	since    int // conflicts after the last restart
	limit    int // of learned clauses
}

// Assume adds a literal to those that the next questions take as true. It returns false if
// propagation alone shows a contradiction; then Withdraw it.
func (s *Solver) Assume(l int) bool {
	s.assumed = append(s.assumed, literal(l))
	return s.Propagate()
}

// Withdraw takes back the last assumption.
func (s *Solver) Withdraw() {
	s.assumed = s.assumed[:len(s.assumed)-1]
	s.back(len(s.assumed))
	s.Propagate()
}

// Reset takes back all assumptions.
func (s *Solver) Reset() {
	s.assumed = s.assumed[:0]
	s.back(0)
}

// Propagate makes everything true that follows from the constraints and the assumptions. It
// returns false if they contradict each other already.
func (s *Solver) Propagate() bool {
	for s.final == nil && s.err == nil {
		if broken := s.propagate(); broken.some() {
			if len(s.starts) == 0 {
				s.contradicts(broken)
			}
			s.back(len(s.starts) - 1) // the next question finds the contradiction again, and learns from it
			return false
		}
		if len(s.starts) == len(s.assumed) {
			return s.err == nil
		}
		next := s.assumed[len(s.starts)]
		if s.value[next] < 0 {
			return false
		}
		s.decide(next)
	}
	return false
}

// Satisfiable reports whether a solution has all assumptions. If so, Model has it. The error
// is the context's cause or ErrLimit.
func (s *Solver) Satisfiable() (bool, error) {
	ok := s.run()
	s.back(len(s.assumed))
	if s.err != nil {
		return false, s.err
	}
	if ok {
		s.Propagate() // what a learned clause adds to the values of the assumptions
	}
	return ok, s.err
}

func (s *Solver) run() bool {
	for s.final == nil {
		broken := s.propagate()
		if s.stopped() {
			return false
		}
		if broken.some() {
			if len(s.starts) == 0 {
				s.contradicts(broken)
				return false
			}
			s.since++
			s.learn(broken)
			continue
		}
		if s.tidy(); len(s.starts) < len(s.assumed) {
			next := s.assumed[len(s.starts)]
			if s.value[next] < 0 {
				return false
			}
			s.decide(next)
			continue
		}
		v := s.next()
		if v == 0 {
			s.save()
			return true
		}
		s.decide(s.preferred(v))
	}
	return false
}

// tidy restarts after some conflicts, and forgets learned clauses after many.
func (s *Solver) tidy() {
	if s.since > restartUnit*luby(s.restarts+1) {
		s.restarts++
		s.since = 0
		s.back(len(s.assumed))
	}
	if s.limit == 0 {
		s.limit = firstLimit
	}
	if len(s.learned) > s.limit {
		s.limit += moreClauses
		s.forget()
	}
}

// luby is the sequence 1 1 2 1 1 2 4 1 1 2 … of Luby, Sinclair and Zuckerman (1993), from 1.
func luby(i int) int {
	for k := 1; ; k++ {
		switch {
		case i == 1<<k-1:
			return 1 << (k - 1)
		case i < 1<<k-1:
			return luby(i - (1<<(k-1) - 1))
		}
	}
}

// save keeps the values as the last solution.
func (s *Solver) save() {
	if len(s.model) < len(s.level) {
		s.model = make([]bool, len(s.level))
	}
	for v := range s.model {
		s.model[v] = s.value[literal(v)] > 0
	}
}

func (s *search) preferred(v int) lit {
	if s.phase[v] {
		return literal(v)
	}
	return literal(-v)
}

// release notes that a variable has no value any longer.
func (s *search) release(l lit) {
	v := l.variable()
	s.phase[v] = l&1 == 0
	if s.position[v] < 0 {
		s.push(v)
	}
}

// next returns the open variable with the highest activity, or 0.
func (s *Solver) next() int {
	for len(s.heap) > 0 {
		s.Steps++
		if v := s.pop(); s.value[literal(v)] == 0 {
			return v
		}
	}
	return 0
}

func (s *search) add(v int) {
	s.activity, s.phase, s.position = append(s.activity, 0), append(s.phase, false), append(s.position, -1)
	if v > 0 {
		s.push(v)
	}
}

func (s *search) bump(v int) {
	if s.activity[v] += s.step; s.activity[v] > enormous {
		for i := range s.activity {
			s.activity[i] /= enormous
		}
		s.step /= enormous
	}
	if at := s.position[v]; at >= 0 {
		s.up(int(at))
	}
}

func (s *search) decay() { s.step /= decay }

// before orders the heap: by activity, then as the variables were added.
func (s *search) before(v, w int32) bool {
	return s.activity[v] > s.activity[w] || s.activity[v] == s.activity[w] && v < w
}

func (s *search) push(v int) {
	s.position[v] = int32(len(s.heap))
	s.heap = append(s.heap, int32(v))
	s.up(len(s.heap) - 1)
}

func (s *search) pop() int {
	v, last := s.heap[0], len(s.heap)-1
	s.swap(0, last)
	s.heap = s.heap[:last]
	s.position[v] = -1
	s.down(0)
	return int(v)
}

func (s *search) up(at int) {
	for above := (at - 1) / 2; at > 0 && s.before(s.heap[at], s.heap[above]); at, above = above, (above-1)/2 {
		s.swap(at, above)
	}
}

func (s *search) down(at int) {
	for {
		below := 2*at + 1
		if below >= len(s.heap) {
			return
		}
		if below+1 < len(s.heap) && s.before(s.heap[below+1], s.heap[below]) {
			below++
		}
		if !s.before(s.heap[below], s.heap[at]) {
			return
		}
		s.swap(at, below)
		at = below
	}
}

func (s *search) swap(i, j int) {
	s.heap[i], s.heap[j] = s.heap[j], s.heap[i]
	s.position[s.heap[i]], s.position[s.heap[j]] = int32(i), int32(j)
}
