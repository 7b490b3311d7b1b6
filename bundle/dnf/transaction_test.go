package dnf

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/step"
)

// rooted is a host that installs its packages below a directory. If the test does
// not run as root, dnf and rpm run in a user namespace.
type rooted struct {
	host.Local
	root string
}

func (h rooted) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	argv := append([]string{cmd.Name}, cmd.Args...)
	if i := slices.Index(argv, "dnf"); i >= 0 {
		argv = slices.Insert(argv, i+1, "--installroot="+h.root)
	} else if i := slices.Index(argv, "rpm"); i >= 0 {
		argv = slices.Insert(argv, i+1, "--root", h.root)
	}
	if os.Getuid() != 0 {
		argv = append([]string{"unshare", "--map-root-user"}, argv...)
	}
	cmd.Name, cmd.Args = argv[0], argv[1:]
	return h.Local.Run(ctx, cmd)
}

func aHost(t *testing.T) rooted {
	t.Helper()
	rpmtest.Need(t, "dnf", "rpm", "createrepo_c")
	if os.Getuid() != 0 && exec.Command("unshare", "--map-root-user", "true").Run() != nil {
		t.Skip("neither root nor user namespaces")
	}
	return rooted{root: t.TempDir()}
}

// transaction plans the list and returns a transaction with its repository.
func transaction(t *testing.T, h host.Host, from rpmtest.Directory, repository rpm.Repository, install ...string) Transaction {
	t.Helper()
	c, err := rpm.Plan(t.Context(), from, rpm.Request{OS: "el9", Arch: "x86_64", Repositories: []rpm.Repository{repository}, Install: install})
	if err != nil {
		t.Fatal(err)
	}
	ours := writeRepository(t, c, from)
	tr := Transaction{Host: h, StateDir: filepath.Join(t.TempDir(), "dnf"), OS: "el9", Root: rootOf(h), BaseURL: "file://" + ours, Keys: keyFiles(t, ours)}
	for _, p := range c.Packages {
		tr.Packages = append(tr.Packages, p.NEVRA)
	}
	return tr
}

func rootOf(h host.Host) string {
	if r, ok := h.(rooted); ok {
		return r.root
	}
	return ""
}

func TestPackagesStep(t *testing.T) {
	h := aHost(t)
	from, repository := vendor(t, spec("agent", "library >= 1.0"), spec("library"), spec("unrelated"))
	tr := transaction(t, h, from, repository, "agent")
	s := PackagesStep(tr)
	if changes, err := s.Plan(t.Context()); err != nil || len(changes) != 2 || !slices.ContainsFunc(changes, func(c string) bool { return strings.HasPrefix(c, "install agent-0:1.0-1") }) {
		t.Errorf("plan: %q, %v", changes, err)
	}
	journal := step.OpenJournal(filepath.Join(t.TempDir(), "journal"))
	for i, want := range []step.Result{{Changed: 1}, {Unchanged: 1}} {
		got, err := step.Run(t.Context(), journal, []step.Step{s}, func(step.Event) {})
		if err != nil || got != want {
			t.Fatalf("run %d: %+v, %v; want %+v", i+1, got, err, want)
		}
	}
	for name, want := range map[string]bool{"agent": true, "library": true, "unrelated": false} {
		if _, err := os.Stat(filepath.Join(h.root, "opt", name)); (err == nil) != want {
			t.Errorf("/opt/%s: %v, want installed: %v", name, err, want)
		}
	}
	if foreign, err := tr.Foreign(t.Context(), "agent"); err != nil || len(foreign) > 0 {
		t.Errorf("airgap's agent is foreign: %v, %v", foreign, err)
	}
	other := Transaction{Host: h, StateDir: t.TempDir()} // without a record
	if foreign, err := other.Foreign(t.Context(), "agent"); err != nil || !slices.Equal(foreign, []string{"agent-0:1.0-1.x86_64"}) {
		t.Errorf("foreign are %v, %v, want agent", foreign, err)
	}
	if err := s.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := tr.installed(t.Context())
	if err != nil || len(left) > 0 {
		t.Errorf("after the undo %v is installed, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(h.root, "opt")); err == nil {
		t.Error("/opt, which rpm created for the packages' files, still exists")
	}
}

// TestUndoKeepsAnEmptyDirectory: the undo keeps an empty directory that existed
// before, such as /opt on a system where no package owns it.
func TestUndoKeepsAnEmptyDirectory(t *testing.T) {
	h := aHost(t)
	from, repository := vendor(t, spec("agent"))
	tr := transaction(t, h, from, repository, "agent")
	opt := filepath.Join(h.root, "opt")
	if err := os.Mkdir(opt, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tr.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tr.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !isEmpty(opt) {
		t.Error("/opt is missing, or not empty")
	}
}

// TestInterruptedTransaction: after a power failure one package is in the database
// but without one of its files. The other is not in the database.
func TestInterruptedTransaction(t *testing.T) {
	h := aHost(t)
	from, repository := vendor(t, spec("agent", "library >= 1.0"), spec("library"))
	tr := transaction(t, h, from, repository, "agent")
	all := tr.Packages
	tr.Packages = slices.DeleteFunc(slices.Clone(all), func(n nevra.NEVRA) bool { return n.Name == "agent" })
	s := PackagesStep(tr)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Done(t.Context()); err != nil || !done {
		t.Fatalf("after a complete transaction: %v, %v", done, err)
	}

	tr.Packages = all
	if err := host.WriteJSON(tr.startedPath(), all); err != nil {
		t.Fatal(err)
	}
	partials := []string{filepath.Join(h.root, "opt", "library;5f3c2a1b"), filepath.Join(h.root, "opt", "agent;5f3c2a1c")}
	others := filepath.Join(h.root, "opt", "other;5f3c2a1d")
	for _, name := range append(partials, others) {
		if err := os.WriteFile(name, []byte("ha"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lost := filepath.Join(h.root, "opt", "library")
	if err := os.RemoveAll(lost); err != nil {
		t.Fatal(err)
	}
	s = PackagesStep(tr)
	if changes, err := s.Plan(t.Context()); err != nil || len(changes) != 2 || !strings.Contains(changes[1], "reinstall the packages of the interrupted dnf transaction") {
		t.Errorf("plan: %q, %v", changes, err)
	}
	if done, err := s.Done(t.Context()); err != nil || done {
		t.Fatalf("after an interrupted transaction: %v, %v", done, err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Done(t.Context()); err != nil || !done {
		t.Errorf("after the repair: %v, %v", done, err)
	}
	if _, err := os.Stat(lost); err != nil {
		t.Errorf("the package of the interrupted transaction was not reinstalled: %v", err)
	}
	for _, name := range partials {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s still exists", name)
		}
	}
	if _, err := os.Stat(others); err != nil {
		t.Errorf("a file of another package was removed: %v", err)
	}
}

// TestUndoWaitsForDNF: Await waits for a dnf of an interrupted run.
func TestUndoWaitsForDNF(t *testing.T) {
	rpmtest.Need(t, "flock")
	tr := Transaction{Host: aHost(t), StateDir: t.TempDir()}
	orphan := exec.Command("flock", tr.lockPath(), "sh", "-c", "sleep 0.5; touch "+filepath.Join(tr.StateDir, "done"))
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	for tr.lockFree() {
		runtime.Gosched()
	}
	if err := tr.Await(t.Context(), func() {}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tr.StateDir, "done")); err != nil {
		t.Error("Await did not wait")
	}
	if err := orphan.Wait(); err != nil {
		t.Error(err)
	}
}

func (t Transaction) lockFree() bool {
	return exec.Command("flock", "--nonblock", t.lockPath(), "true").Run() == nil
}

// TestCheckRefuses: Run fails if dnf's transaction differs from the lock.
func TestCheckRefuses(t *testing.T) {
	h := aHost(t)
	newer := spec("library")
	newer.Version = "2.0"
	from, repository := vendor(t, spec("agent", "library >= 2.0"), newer)
	old := t.TempDir()
	rpmtest.Write(t, filepath.Join(old, "library.rpm"), packed(t, spec("library")))
	if _, err := h.Run(t.Context(), host.Cmd{Name: "rpm", Args: []string{"-i", "--nosignature", filepath.Join(old, "library.rpm")}}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		adjust func(*Transaction)
		want   string
	}{
		{"upgrade", func(*Transaction) {}, "library-2.0-1.x86_64"},
		{"missing package in the lock", func(tr *Transaction) {
			tr.Packages = tr.Packages[:0:0]
			tr.Packages = append(tr.Packages, named(t, "agent-0:1.0-1.x86_64"))
		}, ""},
		{"unknown package", func(tr *Transaction) { tr.Packages = []nevra.NEVRA{named(t, "nothing-0:1-1.x86_64")} }, "nothing-0:1-1.x86_64"},
		{"foreign key", func(tr *Transaction) { tr.Keys = map[string][]byte{"k": publicKey(t)} }, "GPG"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := transaction(t, h, from, repository, "agent", "library")
			tt.adjust(&tr)
			before, _ := tr.installed(t.Context())
			err := tr.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			t.Log(err)
			after, _ := tr.installed(t.Context())
			if len(after) != len(before) {
				t.Errorf("Run changed the host: %v, before %v", after, before)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	lock := []nevra.NEVRA{named(t, "a-0:1-1.noarch"), named(t, "b-2:1-1.x86_64")}
	tests := []struct {
		name  string
		lines string
		want  []string
	}{
		{"equal", "install a-1-1.noarch@airgap|install b-2:1-1.x86_64@airgap", nil},
		{"one package missing", "install a-1-1.noarch@airgap", []string{"would not install b-2:1-1.x86_64"}},
		{"one additional package", "install a-1-1.noarch@airgap|install b-2:1-1.x86_64@airgap|install c-1-1.noarch@airgap", []string{"would install c-1-1.noarch"}},
		{"from another repository", "install a-1-1.noarch@baseos|install b-2:1-1.x86_64@airgap", []string{"would install a-1-1.noarch@baseos", "would not install a-0:1-1.noarch"}},
		{"removal", "install a-1-1.noarch@airgap|install b-2:1-1.x86_64@airgap|erase z-1-1.noarch@@System", []string{"would erase z-1-1.noarch (installed)"}},
		{"upgrade", "upgrade a-0-1.noarch@@System a-1-1.noarch@airgap|install b-2:1-1.x86_64@airgap", []string{"would upgrade a-0-1.noarch (installed) a-1-1.noarch"}},
		{"upgrade of an own package", "install a-1-1.noarch@airgap|upgrade b-1-1.x86_64@@System b-2:1-1.x86_64@airgap", nil},
		{
			"own package replaced by another name",
			"install a-1-1.noarch@airgap|upgrade b-1-1.x86_64@@System c-2:1-1.x86_64@airgap",
			[]string{"would upgrade b-1-1.x86_64 (installed) c-2:1-1.x86_64", "would not install b-2:1-1.x86_64"},
		},
		{"no solution", "problem 5f info nothing provides x needed by a-1-1.noarch|problem 5f info nothing provides x needed by a-1-1.noarch|problem 5f solution 1 deljob install oneof a-1-1.noarch@airgap",
			[]string{"reports: nothing provides x needed by a-1-1.noarch"}},
		{"epoch differs", "install a-1-1.noarch@airgap|install b-1-1.x86_64@airgap", []string{"would install b-1-1.x86_64", "would not install b-2:1-1.x86_64"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := compare(strings.Split(tt.lines, "|"), lock, []nevra.NEVRA{named(t, "b-0:1-1.x86_64")}); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestUndoOfNothing(t *testing.T) {
	tr := Transaction{Host: silent{}, StateDir: t.TempDir()}
	if err := tr.Undo(t.Context()); err != nil {
		t.Error(err)
	}
}

type silent struct{ host.Local }

func (silent) Run(context.Context, host.Cmd) ([]byte, error) { return nil, nil }

func named(t *testing.T, s string) nevra.NEVRA {
	t.Helper()
	n, err := nevra.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestReplace: dnf replaces a package that airgap installed with a newer and an
// older build, also after an interrupted transaction. It does not replace a package
// that airgap did not install.
func TestReplace(t *testing.T) {
	h := aHost(t)
	state := filepath.Join(t.TempDir(), "dnf")
	build := func(version string) Transaction {
		agent, library := spec("agent", "library >= 1.0"), spec("library")
		agent.Version = version
		from, repository := vendor(t, agent, library)
		tr := transaction(t, h, from, repository, "agent")
		var err error
		tr.StateDir = state
		if tr.Own, err = Provided(state); err != nil {
			t.Fatal(err)
		}
		return tr
	}
	if err := build("1.0").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	foreign := build("2.0")
	foreign.Own = nil
	if err := foreign.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "would upgrade agent") {
		t.Errorf("a package that airgap did not install: %v", err)
	}
	for _, version := range []string{"2.0", "1.5"} {
		if err := build(version).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantInstalled(t, h, "agent-"+version+"-1", "library-1.0-1")
		if brought, err := Provided(state); err != nil || len(brought) != 2 {
			t.Errorf("the record has %v, %v", brought, err)
		}
	}
	interrupted := build("3.0")
	newer := filepath.Join(strings.TrimPrefix(interrupted.BaseURL, "file://"), rpm.PackagesDir, "agent-3.0-1.x86_64.rpm")
	started := []nevra.NEVRA{named(t, "agent-0:3.0-1.x86_64")}
	if err := errors.Join(interrupted.remember(started, map[string]bool{}), host.WriteJSON(interrupted.startedPath(), started)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), host.Cmd{Name: "rpm", Args: []string{"-i", "--nosignature", "--force", newer}}); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, h, "agent-1.5-1", "agent-3.0-1", "library-1.0-1")
	if err := interrupted.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, h, "agent-3.0-1", "library-1.0-1")
	if err := interrupted.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, h)
}

func wantInstalled(t *testing.T, h host.Host, want ...string) {
	t.Helper()
	out, err := h.Run(t.Context(), host.Cmd{Name: "rpm", Args: []string{"-qa", "--qf", "%{NAME}-%{VERSION}-%{RELEASE}\n"}})
	got := slices.DeleteFunc(strings.Fields(string(out)), func(p string) bool { return strings.HasPrefix(p, "gpg-pubkey") })
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("installed are %q, want %q (%v)", got, want, err)
	}
}
