package rpm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A shape is dense metadata in the form of a repository, and a request for it.
type shape struct {
	name     string
	packages func() []pkg
	install  string
	problem  string // of a request without a solution
	steps    int64  // at most, for the clauses, the solution and the explanation
}

// dense returns names × versions packages. Each requires a range of versions of several others.
func dense(names, versions int, more func(name, version int) []string) []pkg {
	var all []pkg
	for n := range names {
		for v := 1; v <= versions; v++ {
			p := pkg{nevra: fmt.Sprintf("n%d-%d-1.x86_64", n, v)}
			for k := 1; k <= 6; k++ {
				other := (n*7 + k*k*13 + 1) % names
				if other != n {
					p.requires = append(p.requires, fmt.Sprintf("n%d >= %d", other, max(1, v-k)), fmt.Sprintf("n%d <= %d", other, v+k))
				}
			}
			if more != nil {
				p.requires = append(p.requires, more(n, v)...)
			}
			all = append(all, p)
		}
	}
	return all
}

// TestDense plans dense metadata in a number of steps that grows with its size. The steps are
// those of the SAT solver and of its clauses; in the solver before, a request of the first shape
// took a minute.
func TestDense(t *testing.T) {
	newestBroken := func(n, v int) []string {
		if v > 40+n%17 {
			return []string{"missing"}
		}
		return nil
	}
	for _, s := range []shape{
		{name: "200 names of 60 versions", install: "n0", steps: 20_000_000,
			packages: func() []pkg { return dense(200, 60, nil) }},
		{name: "the newest versions are broken", install: "n0", steps: 60_000_000,
			packages: func() []pkg { return dense(200, 60, newestBroken) }},
		{name: "500 names of 20 versions", install: "n0 n1", steps: 40_000_000,
			packages: func() []pkg {
				return dense(500, 20, func(n, v int) []string { return newestBroken(n, 3*v) })
			}},
		{name: "no version works", install: "n0", steps: 60_000_000, problem: "no package provides missing",
			packages: func() []pkg {
				return dense(200, 60, func(n, v int) []string {
					if n == 7 && v > 3 || n == 11 && v <= 30 {
						return []string{"missing"}
					}
					return nil
				})
			}},
		{name: "two parts of a site that need different versions", install: "n0 app", steps: 60_000_000, problem: "only one version can be installed",
			packages: func() []pkg {
				return append(dense(200, 60, nil),
					pkg{nevra: "app-1-1.x86_64", requires: []string{"n3 >= 50", "n4 < 20"}})
			}},
	} {
		t.Run(s.name, s.test)
	}
}

// TestDenseForms plans other dense forms of metadata.
func TestDenseForms(t *testing.T) {
	const many = 5000
	each := func(f func(i int) pkg) func() []pkg {
		return func() []pkg {
			var all []pkg
			for i := range many {
				all = append(all, f(i))
			}
			return all
		}
	}
	nevra := func(name string, i int) string { return fmt.Sprintf("%s%d-1-1.x86_64", name, i) }
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("p%d", i))
	}
	for _, s := range []shape{
		{name: "all provide, require and exclude one name", install: "p1", steps: 5_000_000,
			packages: each(func(i int) pkg {
				return pkg{nevra: nevra("p", i), provides: []string{"mta"}, requires: []string{"mta", "/opt/tool"}, conflicts: []string{"mta"}, files: []string{"/opt/tool"}}
			})},
		{name: "all require one of all", install: "p1", steps: 5_000_000,
			packages: each(func(i int) pkg {
				return pkg{nevra: nevra("p", i), provides: []string{fmt.Sprintf("half%d", i%2)}, requires: []string{fmt.Sprintf("half%d", 1-i%2)}}
			})},
		{name: "a chain of conflicts", install: "p0", steps: 5_000_000,
			packages: each(func(i int) pkg {
				p := pkg{nevra: nevra("p", i), conflicts: []string{fmt.Sprintf("p%d", i+1)}}
				if i+2 < many {
					p.requires = []string{fmt.Sprintf("(p%d or p%d)", i+1, i+2)}
				}
				return p
			})},
		{name: "a chain of conditions", install: "p0 q", steps: 5_000_000,
			packages: func() []pkg {
				return append(each(func(i int) pkg {
					return pkg{nevra: nevra("p", i), requires: []string{fmt.Sprintf("(p%d if q)", (i+1)%many)}}
				})(), pkg{nevra: "q-1-1.x86_64"})
			}},
		{name: "one condition of all on all", install: "p0", steps: 5_000_000,
			packages: each(func(i int) pkg {
				return pkg{nevra: nevra("p", i), provides: []string{"some"}, requires: []string{fmt.Sprintf("(p%d if some)", (i+1)%many), fmt.Sprintf("(some if p%d)", i/3)}}
			})},
		{name: "a chain of obsoletes", install: "p0", steps: 5_000_000,
			packages: each(func(i int) pkg {
				return pkg{nevra: nevra("p", i), obsoletes: []string{fmt.Sprintf("p%d", i+1), "p0 < 1"}, requires: []string{"any"}, provides: []string{"any"}}
			})},
		{name: "a thousand requested names", install: strings.Join(names, " "), steps: 10_000_000,
			packages: each(func(i int) pkg {
				return pkg{nevra: nevra("p", i), provides: []string{fmt.Sprintf("c%d", i%100)}, requires: []string{fmt.Sprintf("c%d", (i+1)%100), fmt.Sprintf("(c%d or c%d or c%d)", i%97, i%89, i%83)}}
			})},
		{name: "alternatives of all in one requirement", install: "app", steps: 5_000_000,
			packages: func() []pkg {
				var terms []string
				for i := range 1000 {
					terms = append(terms, fmt.Sprintf("(p%d with p%d)", i, i+1), fmt.Sprintf("p%d", i+2))
				}
				return append(each(func(i int) pkg { return pkg{nevra: nevra("p", i)} })(), pkg{nevra: "app-1-1.x86_64", requires: []string{"(" + strings.Join(terms, " or ") + ")"}})
			}},
		{name: "no package of all is possible", install: "app", steps: 10_000_000, problem: "no package provides none, needed by p0-0:1-1.x86_64",
			packages: func() []pkg {
				return append(each(func(i int) pkg {
					return pkg{nevra: nevra("p", i), provides: []string{"any"}, requires: []string{"none"}}
				})(),
					pkg{nevra: "app-1-1.x86_64", requires: []string{"any"}})
			}},
		{name: "all are excluded by what is asked for", install: "app base", steps: 10_000_000, problem: "it conflicts with any",
			packages: func() []pkg {
				return append(each(func(i int) pkg { return pkg{nevra: nevra("p", i), provides: []string{"any"}} })(),
					pkg{nevra: "app-1-1.x86_64", requires: []string{"any"}}, pkg{nevra: "base-1-1.x86_64", conflicts: []string{"any"}})
			}},
	} {
		t.Run(s.name, s.test)
	}
}

func (s shape) test(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	u := universeOf(t, s.packages())
	start := time.Now()
	p, err := newProblem(ctx, u, newSurveyed(Installed{}), listed(strings.Fields(s.install), InstallList))
	if err != nil {
		t.Fatal(err)
	}
	clauses := p.steps
	chosen, ok, err := p.solve()
	if err != nil {
		t.Fatal(err)
	}
	solved := p.steps
	t.Logf("%d packages, %d clauses; %d steps for the clauses, %d for the solution; %v", len(p.entries), len(p.clauses), clauses, solved-clauses, time.Since(start))
	if ok != (s.problem == "") {
		t.Fatalf("it has a solution: %v", ok)
	}
	if ok {
		var names []string
		for _, e := range chosen {
			names = append(names, e.String())
		}
		if broken := p.violated(names); broken != "" {
			t.Errorf("of %d packages: %s", len(chosen), broken)
		}
	} else if text := strings.Join(p.explain(), "\n"); !strings.Contains(text, s.problem) {
		t.Errorf("no %q in %.2000s", s.problem, text)
	}
	t.Logf("%d steps for the explanation; %v", p.steps-solved, time.Since(start))
	if p.steps > s.steps {
		t.Errorf("%d steps, at most %d", p.steps, s.steps)
	}
	if p.steps-solved > max(solved, fewSteps)*21/20 { // a question is complete before its steps are counted
		t.Errorf("the explanation takes %d steps, the solution %d", p.steps-solved, solved)
	}
}

// universeOf reads a repository with these packages.
func universeOf(t testing.TB, packages []pkg) *universe {
	t.Helper()
	w := web{}
	u, problems, err := readUniverse(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{w.publish(t, "https://upstream/vendor", aKey(), packages...)}})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return u
}

// TestStopsSolving: the end of the context ends the clauses, the solution and the explanation.
func TestStopsSolving(t *testing.T) {
	u := universeOf(t, dense(30, 20, func(n, v int) []string {
		if n == 7 && v > 3 || n == 11 && v <= 15 {
			return []string{"missing"}
		}
		return nil
	}))
	cause := errors.New("the user stopped it")
	ctx, stop := context.WithCancelCause(t.Context())
	p, err := newProblem(ctx, u, newSurveyed(Installed{}), listed([]string{"n0"}, InstallList))
	if err != nil {
		t.Fatal(err)
	}
	stop(cause)
	if _, ok, err := p.solve(); ok || !errors.Is(err, cause) {
		t.Errorf("solve: %v, %v", ok, err)
	}
	before := p.steps
	if p.explain(); p.steps-before > fewSteps {
		t.Errorf("%d steps for the explanation", p.steps-before)
	}
	if _, err := newProblem(ctx, u, newSurveyed(Installed{}), listed([]string{"n0"}, InstallList)); err == nil {
		t.Error("the clauses are complete")
	}
}

// TestExplainsBriefly: one sentence names twelve packages at most, and one explanation sixty problems.
func TestExplainsBriefly(t *testing.T) {
	var packages []pkg
	for i := range 200 {
		packages = append(packages, pkg{nevra: fmt.Sprintf("p%d-1-1.x86_64", i), provides: []string{"any"}, requires: []string{"none", fmt.Sprintf("none%d", i)}})
	}
	packages = append(packages, pkg{nevra: "app-1-1.x86_64", requires: []string{"any"}})
	p, err := newProblem(t.Context(), universeOf(t, packages), newSurveyed(Installed{}), listed([]string{"app"}, InstallList))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := p.solve(); ok || err != nil {
		t.Fatal(ok, err)
	}
	all := p.explain()
	if len(all) > maxSentences+1 || slices.ContainsFunc(all, func(s string) bool { return len(s) > 1500 }) {
		t.Errorf("%d sentences: %.3000s", len(all), strings.Join(all, "\n"))
	}
}
