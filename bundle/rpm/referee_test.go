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

	"airgap.dev/airgap/internal/nevra"
)

// referee is dnf's own solver at work on the same metadata.
type referee struct {
	in  io.Writer
	out *json.Decoder
}

// rpmHome is below a root where Debian's rpm has its database.
const rpmHome = "/var/lib"

type verdict struct {
	OK       bool     `json:"ok"`
	Packages []string `json:"packages"`
	Problem  string   `json:"problem"`
}

func newReferee(t *testing.T, root, metadata string) *referee {
	t.Helper()
	const python = "/usr/bin/python3" // dnf's
	cmd := exec.Command(python, "testdata/referee.py", root, t.TempDir(), "baseos=file://"+metadata+"/baseos", "appstream=file://"+metadata+"/appstream")
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
			t.Errorf("dnf as a referee: %v", err)
		}
	})
	return &referee{in, json.NewDecoder(bufio.NewReader(out))}
}

func (r *referee) judge(t *testing.T, install ...string) verdict {
	t.Helper()
	if err := json.NewEncoder(r.in).Encode(map[string][]string{"install": install}); err != nil {
		t.Fatal(err)
	}
	var v verdict
	if err := r.out.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestDnfDifferential asks airgap and dnf for the same random packages on the
// same random servers: they agree on what can be installed; and where they
// choose differently, each accepts the other's choice and ours is no larger.
func TestDnfDifferential(t *testing.T) {
	from, repositories := centOS(t)
	need(t, "rpm", "dnf")
	streams := []string{"nginx:1.24", "nodejs:20", "php:8.2", "postgresql:16"}
	servers := []struct {
		seeds   int // packages asked for at first, with all they need
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
			d := newDuel(t, universes[s.streams == nil], rand.New(rand.NewPCG(2026, uint64(i))), string(from), s.seeds, s.streams)
			for range requests {
				d.ask(t)
			}
			t.Logf("%d packages installed: of %d requests %d can be met, %d of them chosen differently", len(d.installed.Packages), requests, d.met, d.differ)
			if d.met < requests/4 {
				t.Errorf("only %d requests can be met: that shows little", d.met)
			}
		})
	}
}

// duel is one server, and both solvers for it.
type duel struct {
	universe    *universe
	random      *rand.Rand
	names       []string
	modular     []string // names that module streams have
	installed   *Installed
	dnf         *referee
	met, differ int
}

// newDuel sets up a server with seeds random packages and all they need.
func newDuel(t *testing.T, u *universe, random *rand.Rand, metadata string, seeds int, streams []string) *duel {
	d := &duel{universe: u, random: random, installed: &Installed{Host: "random"}}
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
		write(t, filepath.Join(root, "etc/dnf/modules.d", module+".module"), fmt.Appendf(nil, "[%s]\nname=%[1]s\nstream=%s\nprofiles=\nstate=enabled\n", module, stream))
	}
	chosen := map[nevra.NEVRA]*entry{}
	for range seeds {
		p, err := newProblem(t.Context(), u, newKnown(*d.installed), listed([]string{d.name()}, InstallList))
		if err != nil {
			t.Fatal(err)
		}
		more, _ := p.solve()
		for _, e := range more {
			chosen[e.NEVRA] = e
			d.installed.Packages = append(d.installed.Packages, e.asInstalled())
		}
	}
	installStubs(t, root, chosen)
	d.dnf = newReferee(t, root, metadata)
	return d
}

// name is any package, where there are streams as often as not one of theirs.
func (d *duel) name() string {
	names := d.names
	if len(d.modular) > 0 && d.random.IntN(2) == 0 {
		names = d.modular
	}
	return names[d.random.IntN(len(names))]
}

// ask puts one request of one to four packages, some in a certain version.
func (d *duel) ask(t *testing.T) {
	var request []string
	for range 1 + d.random.IntN(4) {
		name := d.name()
		if versions := d.universe.byName[name]; d.random.IntN(4) == 0 {
			e := versions[d.random.IntN(len(versions))]
			name += "-" + e.Version + "-" + e.Release
		}
		request = append(request, name)
	}
	p, err := newProblem(t.Context(), d.universe, newKnown(*d.installed), listed(request, InstallList))
	if err != nil {
		t.Fatal(err)
	}
	chosen, ok := p.solve()
	theirs := d.dnf.judge(t, request...)
	if ok != theirs.OK {
		t.Errorf("%v: we say %v, dnf %v\nwe: %s\ndnf: %s", request, ok, theirs.OK, strings.Join(p.explain(), "\n"), theirs.Problem)
		return
	}
	if !ok {
		if len(p.explain()) == 0 {
			t.Errorf("%v cannot be met, and there is no word why", request)
		}
		return
	}
	d.met++
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

// compare shows that both answers are right, and that ours installs no more.
func (d *duel) compare(t *testing.T, p *problem, request, ours, theirs []string) {
	only := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
	}
	t.Logf("%v: of %d and %d packages ours alone has %v, dnf's alone %v", request, len(ours), len(theirs), only(ours, theirs), only(theirs, ours))
	if v := d.dnf.judge(t, ours...); !v.OK || !slices.Equal(v.Packages, ours) {
		t.Errorf("dnf does not take ours: %s %v", v.Problem, only(v.Packages, ours))
	}
	if broken := p.violated(theirs); broken != "" {
		t.Errorf("we do not take dnf's: %s", broken)
	}
	if len(ours) > len(theirs) {
		t.Errorf("ours installs %d packages, dnf's %d", len(ours), len(theirs))
	}
}

// violated names a clause that does not hold with just these packages.
func (p *problem) violated(packages []string) string {
	in := map[int]bool{}
	for _, e := range p.entries {
		in[p.number[e]] = slices.Contains(packages, e.String())
	}
	for _, c := range p.clauses {
		if !slices.ContainsFunc(c.literals, func(l int) bool { return in[max(l, -l)] == (l > 0) }) {
			var found problems
			p.tell(&found, []clause{c})
			return fmt.Sprint(c.kind, c.what, c.by, found.all())
		}
	}
	return ""
}

// asInstalled is what facts say of a package.
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

// installStubs writes packages without content into a root's rpm database,
// with all that the metadata says of them, file names too.
func installStubs(t *testing.T, root string, packages map[nevra.NEVRA]*entry) {
	t.Helper()
	dir := t.TempDir()
	files := fileLists(t, packages)
	args := []string{"HOME=" + rpmHome, "rpm", "--root", root}
	output(t, "env", append(args, "--initdb")...)
	if len(packages) == 0 {
		return
	}
	install := append(args, "-i", "--justdb", "--nodeps", "--noscripts", "--notriggers", "--nosignature", "--nodigest", "--ignorearch", "--ignoreos", "--replacefiles", "--replacepkgs")
	for name, e := range packages {
		path := filepath.Join(dir, name.FileName())
		write(t, path, e.stub(t, files[e]))
		install = append(install, path)
	}
	output(t, "env", install...)
}

// fileLists are the names of all files of packages; AppStream's file lists
// are empty in the data, so some have only those of primary.
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
	pack.Provides = relations(in.Provides) // without rpmpack's own, which forgets the epoch
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
