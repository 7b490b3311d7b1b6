package rpm

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm/rpmfile"
	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/internal/advice"
)

// withFile is a package with one file.
func withFile(name, path, content string, mode os.FileMode) Spec {
	s := spec(name)
	s.Files = []File{{Path: path, Data: []byte(content), Mode: mode}}
	return s
}

// TestFileConflicts: rpm of a server refuses a package whose file differs from a file of an installed package. The
// plan finds it; it leaves unknown files to the test on the server.
func TestFileConflicts(t *testing.T) {
	const tool = "/usr/bin/tool"
	agent, others := withFile("agent", tool, "agent's", 0o755), withFile("other", tool, "other's", 0o755)
	const build, differ = "agent-1.0-1.x86_64", "both have " + tool + " with different contents: rpm refuses"
	both := spec("agent", "other")
	both.Files = agent.Files
	installed := func(name, version string, provides ...string) []Installed {
		p := present(name, version, provides...)
		return withBash(p)
	}
	for name, c := range map[string]struct {
		other     Spec
		agent     Spec
		installed []Installed
		problem   string
		notice    string
	}{
		"other contents":             {others, agent, installed("other", "1.0"), build + " and other-1.0-1.x86_64, which is installed on db1, " + differ, ""},
		"other mode":                 {withFile("other", tool, "agent's", 0o700), agent, installed("other", "1.0"), "with different modes (", ""},
		"the same file":              {withFile("other", tool, "agent's", 0o755), agent, installed("other", "1.0"), "", ""},
		"other paths":                {withFile("other", "/usr/bin/other", "other's", 0o755), agent, installed("other", "1.0"), "", ""},
		"a directory":                {withFile("other", tool, "", os.ModeDir|0o755), agent, installed("other", "1.0"), "of different kinds", ""},
		"two directories":            {withFile("other", "/opt/x", "", os.ModeDir|0o700), withFile("agent", "/opt/x", "", os.ModeDir|0o755), installed("other", "1.0"), "", ""},
		"/bin is /usr/bin":           {withFile("other", "/bin/tool", "other's", 0o755), agent, installed("other", "1.0"), "both have " + tool, ""},
		"not installed":              {others, agent, installed("lib", "1.0"), "", ""},
		"another build is installed": {others, agent, installed("other", "0.9"), "", "other-0.9-1.x86_64, which is installed on db1, have " + tool + ": no repository has this build of other"},
		"in no repository":           {others, agent, installed("own", "3", tool), "", build + " and own-3-1.x86_64, which is installed on db1, have " + tool},
		"in no repository, unknown":  {others, agent, installed("own", "3"), "", "they are not compared with those of the bundle (bash-5.1-1.x86_64, own-3-1.x86_64; on db1)"},
		"two new packages":           {others, both, installed("lib", "1.0"), "other-1.0-1.x86_64 and " + build + " both have " + tool, ""},
		"two new packages, the same": {withFile("other", tool, "agent's", 0o755), both, installed("lib", "1.0"), "", ""},
		"two new ones, no survey":    {others, both, nil, "both have " + tool, ""},
	} {
		from, repository := vendor(t, c.other, c.agent)
		closure, err := Plan(t.Context(), from, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{repository}, Install: []string{"agent"}, Hosts: c.installed})
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) || advice.Of(err) == "" {
				t.Errorf("%s: %v, want %s", name, err, c.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		notices := slices.DeleteFunc(closure.Notices, func(n string) bool { return c.notice == "" && strings.Contains(n, "no repository lists the files") })
		if !strings.Contains(strings.Join(notices, "\n"), c.notice) || c.notice == "" && len(notices) > 0 {
			t.Errorf("%s: %q, want %q", name, notices, c.notice)
		}
	}
}

// TestFileConflictsOfLists: a list says that a file is a ghost, and headers that cannot be read leave the answer open.
func TestFileConflictsOfLists(t *testing.T) {
	for name, c := range map[string]struct {
		agent, other string
		want         string
	}{
		"files":                {"/run/x", "/run/x", "airgap could not read their headers"},
		"a ghost":              {"/run/x", `/y</file><file type="ghost">/run/x`, ""},
		"ghosts":               {`/z</file><file type="ghost">/run/x`, `/y</file><file type="ghost">/run/x`, ""},
		"directories":          {`/z</file><file type="dir">/run/x`, `/y</file><file type="dir">/run/x`, ""},
		"a directory, a ghost": {`/z</file><file type="dir">/run/x`, `/y</file><file type="ghost">/run/x`, ""},
		"entities":             {"/run/a&amp;b", "/run/a&#38;b", "have /run/a&b"},
	} {
		w := web{}
		r := w.publish(t, "https://upstream/vendor", aKey(), pkg{nevra: "agent-1-1.x86_64", moreFiles: []string{c.agent}}, pkg{nevra: "other-1-1.x86_64", moreFiles: []string{c.other}})
		hosts := []Installed{{Host: "db1", Packages: []InstalledPackage{present("other", "1")}}}
		closure, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"agent"}, Hosts: hosts})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if notices := strings.Join(closure.Notices, "\n"); !strings.Contains(notices, c.want) || (notices == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, notices, c.want)
		}
	}
}

// TestFileConflictsOfHosts: two packages for different servers do not meet.
func TestFileConflictsOfHosts(t *testing.T) {
	from, repository := vendor(t, withFile("a", "/usr/bin/x", "a", 0o755), withFile("b", "/usr/bin/x", "b", 0o755))
	req := Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{repository}, Only: map[string]Extra{"w1": {By: "x", Install: []string{"a"}}, "w2": {By: "x", Install: []string{"b"}}}}
	for _, host := range []string{"w1", "w2"} {
		req.Hosts = append(req.Hosts, Installed{Host: host, Packages: []InstalledPackage{present("bash", "5.1", "/bin/sh")}})
	}
	if _, err := Plan(t.Context(), from, req); err != nil {
		t.Errorf("a on w1, b on w2: %v", err)
	}
	req.Only["w2"] = Extra{By: "x", Install: []string{"a", "b"}}
	if _, err := Plan(t.Context(), from, req); err == nil || !strings.Contains(err.Error(), "both have /usr/bin/x with different contents") {
		t.Errorf("both on w2: %v", err)
	}
}

// TestNothingToInstall: a plan without packages reads no file lists.
func TestNothingToInstall(t *testing.T) {
	w := web{}
	r := w.publish(t, "https://upstream/vendor", aKey(), pkg{nevra: "lib-1-1.x86_64"})
	delete(w, "https://upstream/vendor/repodata/filelists.xml.gz")
	closure, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"lib"}, Hosts: withBash(present("lib", "1"))})
	if err != nil || len(closure.Packages) > 0 || len(closure.Notices) > 0 {
		t.Errorf("%+v, %v", closure, err)
	}
}

// TestAttributes reads the same attributes of files as rpm.
func TestAttributes(t *testing.T) {
	rpmtest.Need(t, "rpm")
	path := filepath.Join(t.TempDir(), "agent.rpm")
	rpmtest.Write(t, path, packed(t, fullSpec()))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, h, err := rpmfile.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	got := h.Files(func(string) bool { return true })
	lines := ""
	for _, file := range slices.Sorted(maps.Keys(got)) {
		a := got[file]
		lines += fmt.Sprintf("%s %o %d %s %s:%s %d %d\n", file, a.Mode, a.Size, a.Digest, a.User, a.Group, a.Flags, a.Color)
	}
	want := rpmtest.Output(t, "rpm", "-qp", "--nosignature", "--qf", `[%{FILENAMES} %{FILEMODES:octal} %{FILESIZES} %{FILEDIGESTS} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILEFLAGS} %{FILECOLORS}\n]`, path)
	want = strings.ReplaceAll(want, "(none)", "0")
	sorted := strings.Split(strings.TrimSpace(want), "\n")
	slices.Sort(sorted)
	if strings.TrimSpace(lines) != strings.Join(sorted, "\n") {
		t.Errorf("airgap reads\n%srpm reads\n%s", lines, want)
	}
	if n := len(h.Files(func(path string) bool { return path == "/etc/agent.conf" })); n != 1 {
		t.Errorf("%d files are wanted", n)
	}
}

// FuzzAttributes: no header panics.
func FuzzAttributes(f *testing.F) {
	good := aPackage(f)
	_, h, err := rpmfile.Read(bytes.NewReader(good))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(h.Raw)
	f.Fuzz(func(_ *testing.T, raw []byte) {
		h, err := rpmfile.ReadHeader(io.LimitReader(bytes.NewReader(raw), 1<<20))
		if err != nil {
			return
		}
		_ = h.Files(func(string) bool { return true })
	})
}
