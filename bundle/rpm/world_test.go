package rpm

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/internal/nevra"
)

// world is a server and its repositories: small and random, with the shapes in which solvers
// differ. Names are a to h, and m1, m2 and n1 for packages of module streams.
type world struct {
	*rand.Rand

	repositories map[string][]pkg
	modules      string // of repository one
	installed    []pkg
	streams      map[string]string // enabled on the server
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(2026, seed)), repositories: map[string][]pkg{}, streams: map[string]string{}}
	for name := range strings.SplitSeq("abcdefgh", "") {
		for range 1 + w.IntN(3) {
			w.addBuilds(name)
		}
	}
	if w.IntN(2) == 0 {
		w.addModules()
	}
	for range w.IntN(5) {
		w.addInstalled(t)
	}
	return w
}

func (w *world) likely(percent int) bool { return w.IntN(100) < percent }

func (w *world) of(list ...string) string { return list[w.IntN(len(list))] }

func (w *world) name() string { return w.of("a", "b", "c", "d", "e", "f", "g", "h", "m1", "m2", "n1") }

func (w *world) capability() string { return w.of("x", "y", "z") }

// relation is a capability, often with a version.
func (w *world) relation() string {
	c := w.name()
	if w.likely(35) {
		c = w.capability()
	}
	if w.likely(35) {
		c += w.of(" = ", " >= ", " <= ", " < ", " > ") + w.of("1", "2", "3", "2-1")
	}
	return c
}

// rich is a rich relation of two or three names.
func (w *world) rich(forms ...string) string {
	return strings.NewReplacer("A", w.relation(), "B", w.relation(), "C", w.relation(), "N", w.name()).Replace(w.of(forms...))
}

func (w *world) richConflict() string {
	return w.rich("(A with N)", "(N with N < 2)", "(A without B)", "(A unless B)", "(A and B)", "(A if B)", "(A or B)", "((A with N) unless B)")
}

func (w *world) richRequirement() string {
	return w.rich("(A or B)", "(A if B)", "(A and B)", "(N with N >= 2)", "(A without B)", "(A if B else C)", "((A and B) if C)", "((A or B) if C)", "(A or (B if C))")
}

// list has none, one or two relations.
func (w *world) list(percent int, of func() string) []string {
	var all []string
	for range 2 {
		if w.likely(percent) {
			all = append(all, of())
		}
	}
	return all
}

// build is a package with random relations.
func (w *world) build(full string) pkg {
	p := pkg{nevra: full}
	p.provides = w.list(30, func() string { return w.capability() + w.of("", " = 1", " = 2", " = 3-1") })
	p.provides = append(p.provides, w.list(5, func() string { return w.name() + w.of("", " = 1", " = 3") })...)
	p.requires = append(w.list(25, w.relation), w.list(8, w.richRequirement)...)
	p.conflicts = append(w.list(4, w.relation), w.list(4, w.richConflict)...)
	p.recommends, p.suggests = w.list(6, w.relation), w.list(6, w.relation)
	p.supplements, p.enhances = w.list(6, w.relation), w.list(6, w.relation)
	if w.likely(12) {
		obsoleted := w.name()
		p.obsoletes = []string{obsoleted + w.of("", " < 2", " < 3", " = 1")}
		if w.likely(70) {
			p.provides = append(p.provides, obsoleted+w.of("", " = 2", " = 3"))
		}
	}
	// A package that meets its own rich conflict: rpm, libsolv and airgap each decide differently.
	own := regexp.MustCompile(`\b(` + strings.Join(append(capabilities(p.provides), nevraName(full)), "|") + `)\b`)
	p.conflicts = slices.DeleteFunc(p.conflicts, func(c string) bool { return strings.HasPrefix(c, "(") && own.MatchString(c) })
	if w.likely(25) && strings.ContainsAny(full[:1], "gh") {
		p.files = []string{"/usr/bin/" + w.of("x", "y")}
	}
	if w.likely(5) {
		p.requires = append(p.requires, "/usr/bin/"+w.of("x", "y"))
	}
	return p
}

// capabilities are the names of provides.
func capabilities(provides []string) []string {
	var names []string
	for _, p := range provides {
		name, _, _ := strings.Cut(p, " ")
		names = append(names, name)
	}
	return names
}

func nevraName(full string) string {
	name, _, _ := strings.Cut(full, "-")
	return name
}

func (w *world) version() string {
	return w.of("", "", "", "1:") + w.of("1", "2", "3") + "-" + w.of("1", "2")
}

// addBuilds adds a build, sometimes for several architectures, and sometimes also to the second repository.
func (w *world) addBuilds(name string) {
	version := w.version()
	arch := "x86_64" // dnf's choice between two architectures of one version depends on the order of the metadata
	if name == "d" || name == "e" {
		arch = "noarch"
	}
	p := w.build(name + "-" + version + "." + arch)
	if slices.ContainsFunc(slices.Concat(w.repositories["one"], w.repositories["two"]), func(o pkg) bool { return o.nevra == p.nevra }) {
		return // names cannot tell two builds apart
	}
	to := w.of("one", "one", "two")
	w.repositories[to] = append(w.repositories[to], p)
	if w.likely(15) {
		w.repositories[to] = append(w.repositories[to], w.build(name+"-"+version+".i686"))
	}
	if w.likely(10) && to == "one" {
		w.repositories["two"] = append(w.repositories["two"], p)
	}
}

// addModules adds the streams s1 and s2 of the module m, with the packages m1 and m2, and sometimes of the module n,
// with the package n1.
func (w *world) addModules() {
	for _, m := range []struct {
		name     string
		packages []string
	}{
		{"m", []string{"m1", "m2"}},
		{"n", []string{"n1"}},
	} {
		if m.name == "n" && w.likely(50) {
			continue
		}
		if w.likely(50) {
			w.streams[m.name] = w.of("s1", "s2", "s1", "s2", "")
		}
		if w.likely(60) {
			w.modules += "---\ndocument: modulemd-defaults\nversion: 1\ndata:\n  module: " + m.name + "\n  stream: " + w.of("s1", "s2") + "\n"
		}
		for _, stream := range []string{"s1", "s2"} {
			for build := range w.IntN(4) {
				w.addModule(m.name, stream, fmt.Sprint(build+1), m.packages)
			}
		}
		for range w.IntN(3) { // no modules, with the same names
			w.addBuilds(w.of(m.packages...))
		}
	}
}

func (w *world) addModule(module, stream, build string, names []string) {
	var rpms []string
	for _, name := range names {
		p := w.build(name + "-" + w.of("1", "2", build) + "-" + build + ".module+el9+" + stream + ".x86_64")
		if name == "m2" && w.likely(60) {
			p.requires = append(p.requires, "m1 = "+w.of("1", "2", build))
		}
		w.repositories["one"] = append(w.repositories["one"], p)
		if n, err := nevra.Parse(p.nevra); err == nil {
			rpms = append(rpms, fmt.Sprintf("%q", n.String()))
		}
	}
	requires := "platform: [" + w.of("el9", "el9", "el9", "el9", "el8") + "]"
	if module == "m" && w.likely(30) {
		requires += ", n: [" + w.of("", "s1", "s2", "-s1", "s1, s2") + "]"
	}
	w.modules += fmt.Sprintf("---\ndocument: modulemd\nversion: 2\ndata:\n  name: %s\n  stream: %s\n  version: %s\n  context: %s\n  arch: x86_64\n"+
		"  summary: m\n  description: m\n"+
		"  license: {module: [MIT]}\n  dependencies:\n  - requires: {%s}\n  artifacts:\n    rpms: [%s]\n",
		module, stream, build, w.of("c1", "c1", "c1", "c2"), requires, strings.Join(rpms, ", "))
}

// addInstalled adds an installed package: a build of the repositories, or one that is gone. It must
// not contradict the others.
func (w *world) addInstalled(t *testing.T) {
	full := w.name() + "-" + w.version() + "." + w.of("x86_64", "x86_64", "noarch", "i686")
	if all := slices.Concat(w.repositories["one"], w.repositories["two"]); w.likely(50) {
		full = all[w.IntN(len(all))].nevra
	}
	if strings.ContainsAny(full[:1], "gh") {
		return // they have files in the repositories, but facts have none
	}
	p := w.build(full)
	p.requires = w.list(20, w.richRequirement)
	p.conflicts = append(w.list(10, w.relation), w.list(30, w.richConflict)...)
	if with := append(slices.Clone(w.installed), p); consistent(t, with) {
		w.installed = with
	}
}

// consistent reports whether packages can be installed together.
func consistent(t *testing.T, all []pkg) bool {
	for i, p := range all {
		var others []InstalledPackage
		for j, o := range all {
			if i != j {
				others = append(others, o.entry(t).asInstalled())
			}
		}
		e := p.entry(t)
		alone := unasked(t.Context(), newUniverse(), newSurveyed(Installed{Packages: others}))
		if why, err := alone.impossible(e); why != "" || err != nil {
			return false
		}
		together := unasked(t.Context(), newUniverse(), newSurveyed(Installed{Packages: append(others, e.asInstalled())}))
		for _, x := range e.requires {
			if !(choice{problem: together}).holds(x.plain()) {
				return false
			}
		}
		for _, x := range e.conflicts {
			if (choice{problem: alone}).holds(x.plain()) {
				return false
			}
		}
	}
	return true
}

func (p pkg) entry(t testing.TB) *entry {
	t.Helper()
	e, err := parsePackage([]byte(p.primary(t)))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// request returns entries of a list: names, capabilities and pins.
func (w *world) request() []string {
	var all []string
	for range 1 + w.IntN(2) {
		one := w.name()
		switch w.IntN(12) {
		case 0:
			one = w.capability()
		case 1:
			one += w.of("-1", "-2", "-3", "-0:2", "-1:1", "-2:1")
		case 2:
			one += w.of("-1-1", "-2-2", "-0:1-1", "-1:2-1", "-3-1.module+el9+s1")
		case 3:
			one += w.of(".x86_64", ".noarch", ".i686")
		case 4:
			one += "-" + w.of("1", "2", "1:2") + "-" + w.of("1", "2") + w.of(".x86_64", ".noarch")
		case 5:
			one += "-" + w.of("1", "2", "*") + "-" + w.of("1", "*") + w.of("", ".x86_64")
		}
		all = append(all, one)
	}
	return all
}

// write writes the repositories to a directory, and the installed packages and enabled streams to root.
func (w *world) write(t *testing.T, root string) (rpmtest.Directory, []Repository) {
	t.Helper()
	up, dir := web{}, t.TempDir()
	all := []Repository{
		up.publishModules(t, "https://upstream/one", aKey(), w.modules, w.repositories["one"]...),
		up.publish(t, "https://upstream/two", aKey(), w.repositories["two"]...),
	}
	for url, data := range up {
		rpmtest.Write(t, filepath.Join(dir, strings.TrimPrefix(url, "https://upstream/")), data)
	}
	database := map[*entry][]string{}
	for _, p := range w.installed {
		e := p.entry(t)
		database[e] = e.files
	}
	writeDatabase(t, root, database)
	for module, stream := range w.streams {
		state := map[bool]string{true: "disabled", false: "enabled"}[stream == ""]
		rpmtest.Write(t, filepath.Join(root, "etc/dnf/modules.d", module+".module"), fmt.Appendf(nil,
			"[%s]\nname=%[1]s\nstream=%s\nprofiles=\nstate=%s\n", module, stream, state))
	}
	return rpmtest.Directory(dir), all
}

func (w *world) String() string {
	var b strings.Builder
	for _, name := range []string{"one", "two"} {
		for _, p := range w.repositories[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, p)
		}
	}
	for _, p := range w.installed {
		fmt.Fprintf(&b, "installed: %s\n", p)
	}
	return b.String() + fmt.Sprintln(w.streams, w.modules)
}

func (p pkg) String() string {
	text := p.nevra
	for name, list := range map[string][]string{
		"provides": p.provides, "requires": p.requires, "conflicts": p.conflicts, "obsoletes": p.obsoletes, "files": p.files,
		"recommends": p.recommends, "suggests": p.suggests, "supplements": p.supplements, "enhances": p.enhances,
	} {
		if len(list) > 0 {
			text += fmt.Sprintf(" %s%q", name, list)
		}
	}
	return text
}
