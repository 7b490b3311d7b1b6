package rpm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/rpmpack"

	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/internal/nevra"
)

// dnfSolver is a process that runs dnf's solver on the same metadata.
type dnfSolver struct {
	in  io.Writer
	out *json.Decoder
}

// rpmHome is the directory of the database of Debian's rpm, below a root.
const rpmHome = "/var/lib"

type answer struct {
	OK       bool     `json:"ok"`
	Packages []string `json:"packages"`
	Problem  string   `json:"problem"`
}

// newDNFSolver starts dnf's solver with repositories, which are directories in metadata.
func newDNFSolver(t *testing.T, root, metadata string, repositories ...string) *dnfSolver {
	t.Helper()
	const python = "/usr/bin/python3" // the interpreter of dnf
	cmd := exec.Command(python, "testdata/dnfsolver.py", root, t.TempDir())
	for _, name := range repositories {
		cmd.Args = append(cmd.Args, name+"=file://"+metadata+"/"+name)
	}
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "HOME="+rpmHome)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("dnf's solver: %v", err)
		}
	})
	return &dnfSolver{in, json.NewDecoder(bufio.NewReader(out))}
}

func (r *dnfSolver) solve(t *testing.T, install ...string) answer {
	t.Helper()
	if err := json.NewEncoder(r.in).Encode(map[string][]string{"install": install}); err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := r.out.Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestDnfDifferential requests the same random packages for the same random
// servers from airgap and dnf. Both must agree on the requests that have a
// solution. If the choices differ, each must accept the other's choice, and
// airgap's must not be larger.
func TestDnfDifferential(t *testing.T) {
	from, repositories := centOS(t)
	rpmtest.Need(t, "rpm", "dnf")
	streams := []string{"nginx:1.24", "nodejs:20", "php:8.2", "postgresql:16"}
	servers := []struct {
		seeds   int // packages that are installed first, with their requirements
		streams []string
	}{{0, nil}, {3, nil}, {8, nil}, {15, nil}, {40, nil}, {8, streams}}
	const requests = 55
	universes := map[bool]*universe{}
	for i, s := range servers {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			request := Request{OS: "el9", Arch: "x86_64", Repositories: repositories, Modules: s.streams}
			if universes[s.streams == nil] == nil {
				u, problems, err := readUniverse(t.Context(), from, request)
				if err != nil || len(problems) > 0 {
					t.Fatal(problems, err)
				}
				universes[s.streams == nil] = u
			}
			d := newComparison(t, universes[s.streams == nil], rand.New(rand.NewPCG(2026, uint64(i))), string(from), s.seeds, s.streams)
			for range requests {
				d.ask(t)
			}
			t.Logf("%d packages installed: of %d requests %d have a solution, for %d of them the choices differ", len(d.installed.Packages), requests, d.solved, d.differ)
			if d.solved < requests/4 {
				t.Errorf("only %d requests have a solution, which is too few for a comparison", d.solved)
			}
		})
	}
}

// comparison is one server with both solvers.
type comparison struct {
	universe       *universe
	random         *rand.Rand
	names          []string
	modular        []string // names of packages in module streams
	installed      *Installed
	dnf            *dnfSolver
	solved, differ int
}

// newComparison sets up a server with seeds random packages and their requirements.
func newComparison(t *testing.T, u *universe, random *rand.Rand, metadata string, seeds int, streams []string) *comparison {
	d := &comparison{universe: u, random: random, installed: &Installed{Host: "random"}}
	for name, versions := range u.byName {
		d.names = append(d.names, name)
		if strings.Contains(versions[0].Release, ".module") {
			d.modular = append(d.modular, name)
		}
	}
	slices.Sort(d.names)
	slices.Sort(d.modular)
	root := t.TempDir()
	for _, s := range streams {
		module, stream, _ := strings.Cut(s, ":")
		rpmtest.Write(t, filepath.Join(root, "etc/dnf/modules.d", module+".module"), fmt.Appendf(nil, "[%s]\nname=%[1]s\nstream=%s\nprofiles=\nstate=enabled\n", module, stream))
	}
	chosen := map[nevra.NEVRA]*entry{}
	for range seeds {
		p, err := newProblem(t.Context(), u, newSurveyed(*d.installed), listed([]string{d.name()}, InstallList))
		if err != nil {
			t.Fatal(err)
		}
		more, _, err := p.solve()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range more {
			chosen[e.NEVRA] = e
			d.installed.Packages = append(d.installed.Packages, e.asInstalled())
		}
	}
	installStubs(t, root, chosen)
	d.dnf = newDNFSolver(t, root, metadata, "baseos", "appstream")
	return d
}

// name returns a random package. With module streams half of the names are from
// streams.
func (d *comparison) name() string {
	names := d.names
	if len(d.modular) > 0 && d.random.IntN(2) == 0 {
		names = d.modular
	}
	return names[d.random.IntN(len(names))]
}

// ask sends one request of one to four packages, some with a version.
func (d *comparison) ask(t *testing.T) {
	var request []string
	for range 1 + d.random.IntN(4) {
		name := d.name()
		if versions := d.universe.byName[name]; d.random.IntN(4) == 0 {
			e := versions[d.random.IntN(len(versions))]
			name += "-" + e.Version + "-" + e.Release
		}
		request = append(request, name)
	}
	p, err := newProblem(t.Context(), d.universe, newSurveyed(*d.installed), listed(request, InstallList))
	if err != nil {
		t.Fatal(err)
	}
	chosen, ok, err := p.solve()
	if err != nil {
		t.Fatal(err)
	}
	theirs := d.dnf.solve(t, request...)
	if ok != theirs.OK {
		t.Errorf("%v: airgap has a solution: %v, dnf: %v\nairgap: %s\ndnf: %s", request, ok, theirs.OK, strings.Join(p.explain(), "\n"), theirs.Problem)
		return
	}
	if !ok {
		if len(p.explain()) == 0 {
			t.Errorf("%v has no solution and no reason", request)
		}
		return
	}
	d.solved++
	ours := make([]string, 0, len(chosen))
	for _, e := range chosen {
		ours = append(ours, e.String())
	}
	slices.Sort(ours)
	if !slices.Equal(ours, theirs.Packages) {
		d.differ++
		d.compare(t, p, request, ours, theirs.Packages)
	}
}

// compare checks that both answers are valid, and that airgap does not install more
// packages.
func (d *comparison) compare(t *testing.T, p *problem, request, ours, theirs []string) {
	only := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
	}
	t.Logf("%v: of %d and %d packages only airgap has %v, only dnf has %v", request, len(ours), len(theirs), only(ours, theirs), only(theirs, ours))
	if a := d.dnf.solve(t, ours...); !a.OK || !slices.Equal(a.Packages, ours) {
		t.Errorf("dnf does not accept airgap's choice: %s %v", a.Problem, only(a.Packages, ours))
	}
	if broken := p.violated(theirs); broken != "" {
		t.Errorf("airgap does not accept dnf's choice: %s", broken)
	}
	if len(ours) > len(theirs) {
		t.Errorf("airgap installs %d packages, dnf %d", len(ours), len(theirs))
	}
}

// violated returns a clause that is false with exactly these packages, or "".
func (p *problem) violated(packages []string) string {
	in := map[*entry]bool{}
	for _, e := range p.entries {
		in[e] = slices.Contains(packages, e.String())
	}
	for i, c := range p.clauses {
		if (c.by == nil || in[c.by]) && !c.satisfied(in) {
			var found problems
			p.report(&found, []int{i})
			return fmt.Sprint(c.kind, c.relation, c.by, found.all())
		}
	}
	return ""
}

// satisfied evaluates a clause whose package is installed.
func (c clause) satisfied(in map[*entry]bool) bool {
	count := func(s *set) (n int) {
		for _, e := range s.members {
			if in[e] && (e != c.by || !c.exclusive()) {
				n++
			}
		}
		return n
	}
	if c.kind == versions {
		return count(c.atoms[0].set) <= 1
	}
	return slices.ContainsFunc(c.atoms, func(a atom) bool { return (count(a.set) == 0) == a.not })
}

// asInstalled returns the package as in the facts.
func (e *entry) asInstalled() InstalledPackage {
	plain := func(list []expression) []Capability {
		var all []Capability
		for _, x := range list {
			c := x.Capability
			if x.op != "" {
				c = Capability{Name: x.String()}
			}
			all = append(all, c)
		}
		return all
	}
	return InstalledPackage{NEVRA: e.NEVRA, Provides: e.provides, Requires: plain(e.requires), Conflicts: plain(e.conflicts), Obsoletes: e.obsoletes}
}

// installStubs adds packages without content to a root's rpm database, with all
// their metadata, including file names.
func installStubs(t *testing.T, root string, packages map[nevra.NEVRA]*entry) {
	t.Helper()
	writeDatabase(t, root, fileLists(t, packages))
}

// writeDatabase is installStubs with the names of the files.
func writeDatabase(t *testing.T, root string, packages map[*entry][]string) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"HOME=" + rpmHome, "rpm", "--root", root}
	rpmtest.Output(t, "env", append(args, "--initdb")...)
	if len(packages) == 0 {
		return
	}
	install := append(args, "-i", "--justdb", "--nodeps", "--noscripts", "--notriggers", "--nosignature", "--nodigest", "--ignorearch", "--ignoreos", "--replacefiles", "--replacepkgs")
	for e, files := range packages {
		path := filepath.Join(dir, e.FileName())
		rpmtest.Write(t, path, e.stub(t, files))
		install = append(install, path)
	}
	rpmtest.Output(t, "env", install...)
}

// fileLists returns the names of all files of the packages. AppStream's file lists
// in the test data are empty, so some packages have only the files in primary.
func fileLists(t *testing.T, packages map[nevra.NEVRA]*entry) map[*entry][]string {
	t.Helper()
	all := map[*entry][]string{}
	sources := map[*source]bool{}
	for _, e := range packages {
		sources[e.source] = true
		all[e] = e.files
	}
	for s := range sources {
		err := s.eachFilelist(t.Context(), func(id string, element []byte) error {
			e := s.byID[id]
			if e == nil || packages[e.NEVRA] != e {
				return nil
			}
			var list struct {
				Files []string `xml:"file"`
			}
			if err := xml.Unmarshal(element, &list); err != nil {
				return err
			}
			if len(list.Files) > 0 {
				all[e] = list.Files
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func (e *entry) stub(t *testing.T, files []string) []byte {
	t.Helper()
	in := e.asInstalled()
	pack, err := rpmpack.NewRPM(rpmpack.RPMMetaData{
		Name: e.Name, Version: e.Version, Release: e.Release, Epoch: uint32(e.Epoch), Arch: e.Arch, OS: "linux", Summary: e.Name, Licence: "none",
		Provides: relations(in.Provides), Requires: relations(in.Requires), Conflicts: relations(in.Conflicts), Obsoletes: relations(in.Obsoletes),
	})
	if err != nil {
		t.Fatal(err)
	}
	pack.Provides = relations(in.Provides) // replaces rpmpack's list, which omits the epoch
	for _, path := range files {
		pack.AddFile(rpmpack.RPMFile{Name: path, Mode: 0o100644})
	}
	var b bytes.Buffer
	if err := pack.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func relations(list []Capability) rpmpack.Relations {
	var all rpmpack.Relations
	for _, c := range list {
		r := &rpmpack.Relation{Name: c.Name}
		if c.Flags != "" {
			r.Version = c.EVR.String()
		}
		if strings.ContainsAny(c.Flags, "L") {
			r.Sense |= rpmpack.SenseLess
		}
		if strings.ContainsAny(c.Flags, "G") {
			r.Sense |= rpmpack.SenseGreater
		}
		if strings.HasSuffix(c.Flags, "E") || c.Flags == "EQ" {
			r.Sense |= rpmpack.SenseEqual
		}
		all = append(all, r)
	}
	return all
}
