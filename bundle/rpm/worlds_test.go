package rpm

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm/rpmtest"
)

// TestWorldsAsDNF: airgap and dnf choose the same packages in small random worlds, with module builds,
// packages of two architectures, obsoletes, rich relations of installed packages and pins. A few choices
// differ, because dnf's solver goes back further after a contradiction: each accepts the other's choice.
// AIRGAP_WORLDS=FIRST-LAST selects the worlds.
func TestWorldsAsDNF(t *testing.T) {
	rpmtest.Need(t, "rpm", "dnf")
	first, last := uint64(1), uint64(24)
	if a, b, is := strings.Cut(os.Getenv("AIRGAP_WORLDS"), "-"); is {
		first, _ = strconv.ParseUint(a, 10, 32)
		last, _ = strconv.ParseUint(b, 10, 32)
	}
	solved, differ := 0, 0
	for seed := first; seed <= last; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			w := newWorld(t, seed)
			s, d := w.compare(t)
			if solved, differ = solved+s, differ+d; t.Failed() {
				t.Log(w)
			}
		})
	}
	t.Logf("%d requests have a solution, for %d of them the choices differ", solved, differ)
	if differ*20 > solved {
		t.Errorf("the choices differ for %d of %d requests, want at most 5%%", differ, solved)
	}
}

// compare sends requests to both solvers.
func (w *world) compare(t *testing.T) (solved, differ int) {
	root := t.TempDir()
	from, repositories := w.write(t, root)
	host := Installed{Host: "db1", Streams: w.streams}
	for _, p := range w.installed {
		host.Packages = append(host.Packages, p.entry(t).asInstalled())
	}
	u, problems, err := readUniverse(t.Context(), from, Request{OS: "el9", Arch: "x86_64", Repositories: repositories, Hosts: []Installed{host}})
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	dnf := newDNFSolver(t, root, string(from), "one", "two")
	for range 12 {
		request := w.request()
		p, err := newProblem(t.Context(), u, newSurveyed(host), listed(request, InstallList))
		if err != nil {
			t.Fatal(err)
		}
		chosen, ok, err := p.solve()
		if err != nil {
			t.Fatal(err)
		}
		theirs := dnf.solve(t, request...)
		var ours []string
		for _, e := range chosen {
			ours = append(ours, e.String())
		}
		slices.Sort(ours)
		switch {
		case ok != theirs.OK:
			t.Errorf("%v: airgap has a solution: %v %v, dnf: %v %v\nairgap: %s\ndnf: %s", request, ok, ours, theirs.OK, theirs.Packages, strings.Join(p.explain(), "\n"), theirs.Problem)
		case ok && !slices.Equal(ours, theirs.Packages):
			differ++
			t.Logf("%v: airgap installs %v, dnf %v", request, ours, theirs.Packages)
			if a := dnf.solve(t, ours...); !a.OK || !slices.Equal(a.Packages, ours) {
				t.Errorf("dnf does not accept airgap's choice: %s %v", a.Problem, a.Packages)
			}
			if broken := p.violated(theirs.Packages); broken != "" {
				t.Errorf("airgap does not accept dnf's choice: %s", broken)
			}
		}
		if ok {
			solved++
		}
	}
	return solved, differ
}
