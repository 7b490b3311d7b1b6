package rpm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/nevra"
)

// TestMillionProvides: a package with a million provides of one name is left out, and needs little memory.
func TestMillionProvides(t *testing.T) {
	w := web{}
	big := strings.Replace(pkg{nevra: "big-1-1.x86_64"}.primary(t), "<rpm:provides>", "<rpm:provides>"+strings.Repeat(`<rpm:entry name="mta"/>`, 1_000_000), 1)
	r := w.put(t, "https://upstream/vendor", raw{kind: "primary", name: "p.xml.gz", data: gzipped(primaryOf(big, pkg{nevra: "app-1-1.x86_64"}.primary(t)))})
	before := allocated()
	c, err := planOf(t, w, r, "app")
	if more := allocated() - before; more > 400<<20 {
		t.Errorf("%d MB were allocated", more>>20)
	}
	if err != nil {
		t.Fatal(err)
	}
	if notices := c.Repositories[0].Notices; len(notices) != 1 || !contains(notices[0], "big is left out: it has too many elements (in https://upstream/vendor/repodata/p.xml.gz)") {
		t.Errorf("notices are %q", notices)
	}
	if _, err := planOf(t, w, r, "mta"); err == nil || !contains(err.Error(), "repository vendor: big is left out") {
		t.Errorf("got %v", err)
	}
}

// TestHeavyRepository: the relations of all packages of a repository have a limit, also those of packages that are left out.
func TestHeavyRepository(t *testing.T) {
	p := pkg{nevra: "big-1-1.x86_64"}
	for range 2000 {
		p.provides = append(p.provides, "mta")
	}
	for name, record := range map[string]string{
		"used":                 p.primary(t),
		"left out":             strings.Replace(p.primary(t), `epoch="0"`, `epoch="x"`, 1),
		"no XML":               strings.Replace(p.primary(t), "<version ", "<version", 1),
		"another architecture": strings.Replace(p.primary(t), "<arch>x86_64", "<arch>s390x", 1),
	} {
		w := web{}
		r := w.put(t, "https://upstream/vendor", raw{kind: "primary", name: "p.xml", data: primaryOf(record)})
		s, err := openSource(t.Context(), w, r, nil, targets{})
		if err != nil {
			t.Fatal(err)
		}
		s.weight = maxWeight - 1000
		_, err = s.readPrimary(t.Context(), "x86_64")
		if name == "another architecture" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, errRelations) || !contains(err.Error(), "https://upstream/vendor/repodata/p.xml") || !contains(advice.Of(err), again) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// countdown is a context that ends when it is asked the given number of times.
type countdown struct {
	context.Context

	left, more int // more counts the calls after the end
	cause      error
}

func (c *countdown) Err() error {
	if c.left--; c.left > 0 {
		return nil
	}
	c.more++
	return c.cause
}

func (c *countdown) Value(any) any { return nil }

// millionMTA has a million provides of one name in a thousand packages.
func millionMTA() *universe {
	u := newUniverse()
	app := &entry{NEVRA: nevra.NEVRA{Name: "app", EVR: nevra.EVR{Version: "1", Release: "1"}, Arch: "x86_64"}}
	app.requires = []expression{{Capability: Capability{Name: "mta", Flags: "GE", EVR: nevra.EVR{Version: "0.5"}}}}
	app.provides = []Capability{self(app.NEVRA)}
	u.add(app)
	for i := range 1000 {
		e := &entry{NEVRA: nevra.NEVRA{Name: fmt.Sprintf("mta%d", i), EVR: app.EVR, Arch: "x86_64"}}
		for v := range 1000 {
			e.provides = append(e.provides, Capability{Name: "mta", Flags: "EQ", EVR: nevra.EVR{Version: fmt.Sprintf("0.%d", (v*7+i)%1000)}})
			e.obsoletes = append(e.obsoletes, Capability{Name: "old", Flags: "LT", EVR: nevra.EVR{Version: "1"}})
		}
		u.add(e)
	}
	return u
}

// TestStopsAmongMillions: the end of the context ends the search of providers, and the choice between them, at the next look.
func TestStopsAmongMillions(t *testing.T) {
	cause := errors.New("the user stopped it")
	u := millionMTA()
	if n := len(u.provides["mta"]); n != 1000 || len(u.obsoletes["old"]) != 1000 {
		t.Fatalf("%d packages provide it, %d obsolete the old one", n, len(u.obsoletes["old"]))
	}
	ctx := &countdown{Context: t.Context(), left: 3, cause: cause}
	if _, err := u.search(ctx, Capability{Name: "mta"}); !errors.Is(err, cause) || u.looked > 3000 {
		t.Errorf("%v after a look at %d capabilities", err, u.looked)
	}
	solve := func(ctx context.Context) error {
		p, err := newProblem(ctx, u, newSurveyed(Installed{}), listed([]string{"app"}, InstallList))
		if err == nil {
			_, _, err = p.solve()
		}
		return err
	}
	all := &countdown{Context: t.Context(), left: 1 << 40}
	if err := solve(all); err != nil {
		t.Fatal(err)
	}
	calls := 1<<40 - all.left
	for _, percent := range []int{1, 10, 50, 95} {
		clear(u.offered)
		ctx := &countdown{Context: t.Context(), left: 1 + calls*percent/100, cause: cause}
		if err := solve(ctx); !errors.Is(err, cause) || ctx.more > 5000 {
			t.Errorf("after %d%% of %d looks at the context: %v after %d more", percent, calls, err, ctx.more)
		}
	}
}

// TestSortStable: the order is that of slices.SortStableFunc, and the end of the context ends it.
func TestSortStable(t *testing.T) {
	list := make([][2]int, 1_000_000)
	for i := range list {
		list[i] = [2]int{i * 7919 % 1000, i}
	}
	first := func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) }
	ctx, stop := context.WithCancel(t.Context())
	compared := 0
	sortStable(ctx, slices.Clone(list), func(a, b [2]int) int {
		if compared++; compared == 100_000 {
			stop()
		}
		return first(a, b)
	})
	if compared > 120_000 {
		t.Errorf("%d comparisons", compared)
	}
	want := slices.Clone(list)
	slices.SortStableFunc(want, first)
	if sortStable(t.Context(), list, first); !slices.Equal(list, want) {
		t.Error("the order is wrong")
	}
}
