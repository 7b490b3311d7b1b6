package sat

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// formula is constraints in a form that the test can evaluate.
type formula struct {
	variables int // without the sets
	clauses   [][]int
	sets      [][]int // members of the variables after variables
	excluding []exclusionOf
}

type exclusionOf struct{ members, causing []int }

func (f formula) solver(t testing.TB, which func(number int) bool) *Solver {
	t.Helper()
	s := New(t.Context(), f.variables)
	for _, members := range f.sets {
		s.Any(s.Add(), members)
	}
	number := 0
	next := func() int { number++; return number - 1 }
	for _, c := range f.clauses {
		if n := next(); which(n) {
			s.Clause(n, c...)
		}
	}
	for _, x := range f.excluding {
		var causing, numbers []int
		for _, c := range x.causing {
			if n := next(); which(n) {
				causing, numbers = append(causing, c), append(numbers, n)
			}
		}
		s.Exclude(x.members, causing, numbers)
	}
	return s
}

// holds evaluates all constraints.
func (f formula) holds(value func(l int) bool) bool {
	for i, members := range f.sets {
		if value(f.variables+1+i) != slices.ContainsFunc(members, value) {
			return false
		}
	}
	for _, c := range f.clauses {
		if !slices.ContainsFunc(c, value) {
			return false
		}
	}
	for _, x := range f.excluding {
		for _, c := range x.causing {
			if value(c) && slices.ContainsFunc(x.members, func(m int) bool { return m != c && value(m) }) {
				return false
			}
		}
	}
	return true
}

// satisfiable tries all values.
func (f formula) satisfiable(assumed ...int) bool {
	for bits := range 1 << f.variables {
		values := make([]bool, f.variables+len(f.sets)+1)
		value := func(l int) bool { return values[max(l, -l)] == (l > 0) }
		for v := range f.variables {
			values[v+1] = bits>>v&1 == 1
		}
		for i, members := range f.sets {
			values[f.variables+1+i] = slices.ContainsFunc(members, value)
		}
		if f.holds(value) && !slices.ContainsFunc(assumed, func(l int) bool { return !value(l) }) {
			return true
		}
	}
	return false
}

func random(r *rand.Rand) formula {
	f := formula{variables: 4 + r.IntN(6)}
	some := func(n int) []int {
		var all []int
		for range n {
			if v := 1 + r.IntN(f.variables); !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
		return all
	}
	for range r.IntN(3) {
		f.sets = append(f.sets, some(1+r.IntN(4)))
	}
	for range f.variables * (1 + r.IntN(4)) {
		var c []int
		for range 1 + r.IntN(3) {
			l := 1 + r.IntN(f.variables+len(f.sets))
			if r.IntN(2) == 0 {
				l = -l
			}
			c = append(c, l)
		}
		f.clauses = append(f.clauses, c)
	}
	for range r.IntN(3) {
		members := some(4)
		f.excluding = append(f.excluding, exclusionOf{members, append(some(2), members[:r.IntN(len(members))]...)})
	}
	for i, x := range f.excluding {
		slices.Sort(x.causing)
		f.excluding[i].causing = slices.Compact(x.causing)
	}
	return f
}

// TestAgainstAllValues asks random small formulas, some with assumptions. The solver answers as a
// search through all values does, its solution satisfies the formula, and its core alone is a
// contradiction.
func TestAgainstAllValues(t *testing.T) {
	r := rand.New(rand.NewPCG(2026, 48))
	count := map[bool]int{}
	for range 3000 {
		f := random(r)
		s := f.solver(t, func(int) bool { return true })
		want := f.satisfiable()
		ok, err := s.Satisfiable()
		if err != nil || ok != want {
			t.Fatalf("%+v: %v, %v; want %v", f, ok, err, want)
		}
		if count[ok]++; !ok {
			core := s.Core()
			if again, _ := f.solver(t, func(n int) bool { return slices.Contains(core, n) }).Satisfiable(); again {
				t.Fatalf("%+v: the core %v is no contradiction", f, core)
			}
			continue
		}
		f.assume(t, r, s)
	}
	if count[true] < 500 || count[false] < 500 {
		t.Errorf("too few of a kind: %v", count)
	}
}

// assume asks with more and more assumptions, and withdraws those without a solution.
func (f formula) assume(t *testing.T, r *rand.Rand, s *Solver) {
	t.Helper()
	var assumed []int
	for range 6 {
		value := func(l int) bool { return s.Model(max(l, -l)) == (l > 0) }
		if !f.holds(value) || slices.ContainsFunc(assumed, func(l int) bool { return !value(l) }) {
			t.Fatalf("%+v: the solution does not fit, assumed %v", f, assumed)
		}
		l := 1 + r.IntN(f.variables)
		if r.IntN(2) == 0 {
			l = -l
		}
		want := f.satisfiable(append(slices.Clip(assumed), l)...)
		possible := s.Assume(l)
		ok, err := s.Satisfiable()
		if err != nil || ok != want || ok && !possible {
			t.Fatalf("%+v: with %v and %d: %v, %v; want %v", f, assumed, l, ok, err, want)
		}
		if !ok {
			if s.Withdraw(); !s.Assume(-l) {
				t.Fatalf("%+v: with %v neither %d nor %d", f, assumed, l, -l)
			}
			assumed = append(assumed, -l)
			if ok, err := s.Satisfiable(); err != nil || !ok {
				t.Fatalf("%+v: no solution with %v, %v", f, assumed, err)
			}
			continue
		}
		assumed = append(assumed, l)
	}
}

// pigeons is a formula without a solution that needs an exponential proof: n+1 pigeons in n holes.
func pigeons(ctx context.Context, n int) *Solver {
	s := New(ctx, n*(n+1))
	at := func(pigeon, hole int) int { return pigeon*n + hole + 1 }
	for pigeon := range n + 1 {
		var c []int
		for hole := range n {
			c = append(c, at(pigeon, hole))
		}
		s.Clause(pigeon, c...)
	}
	for hole := range n {
		var members, numbers []int
		for pigeon := range n + 1 {
			members, numbers = append(members, at(pigeon, hole)), append(numbers, n+1+hole)
		}
		s.Exclude(members, members, numbers)
	}
	return s
}

// TestHard needs learning, restarts and forgetting. Its core is everything.
func TestHard(t *testing.T) {
	s := pigeons(t.Context(), 7)
	if ok, err := s.Satisfiable(); ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if got := len(s.Core()); got != 8+7 {
		t.Errorf("the core has %d constraints of %d", got, 8+7)
	}
}

// TestStops: the context and the limit end a search that would take years.
func TestStops(t *testing.T) {
	s := pigeons(t.Context(), 30)
	s.Limit = 5_000_000
	if ok, err := s.Satisfiable(); ok || !errors.Is(err, ErrLimit) {
		t.Errorf("with a limit: %v, %v", ok, err)
	}
	if s.Steps > 2*s.Limit {
		t.Errorf("%d steps, the limit was %d", s.Steps, s.Limit)
	}
	cause := errors.New("the user stopped it")
	ctx, stop := context.WithCancelCause(t.Context())
	s = pigeons(ctx, 30)
	go stop(cause)
	if ok, err := s.Satisfiable(); ok || !errors.Is(err, cause) {
		t.Errorf("with a context: %v, %v", ok, err)
	}
}

// TestSize: ten thousand variables that exclude each other, and ten thousand clauses with one
// set of them, need steps in proportion.
func TestSize(t *testing.T) {
	const n = 10_000
	s := New(t.Context(), 2*n)
	var members, users, numbers []int
	for i := range n {
		members, users, numbers = append(members, i+1), append(users, n+i+1), append(numbers, i)
	}
	set := s.Add()
	s.Any(set, members)
	for i, u := range users {
		s.Clause(n+i, -u, set)
		s.Clause(2*n+i, u)
	}
	s.Exclude(members, members, numbers)
	if ok, err := s.Satisfiable(); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if s.Steps > 50*n {
		t.Errorf("%d steps for %d clauses", s.Steps, 2*n)
	}
}
