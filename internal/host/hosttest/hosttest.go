// Package hosttest is a host for tests: a directory with files and commands that answer.
package hosttest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Fake is a machine in a temporary directory. Commands are recorded; an
// answer is looked up by the longest prefix of the command line.
type Fake struct {
	Root    string
	Calls   []string // the commands that were run, without the root
	Answers map[string]func(host.Cmd) ([]byte, error)
}

// New is a machine that runs systemd, with an empty file system.
func New(t *testing.T) (*Fake, host.Machine) {
	t.Helper()
	f := &Fake{Root: t.TempDir(), Answers: map[string]func(host.Cmd) ([]byte, error){}}
	f.Put(t, "proc/1/comm", "systemd\n")
	f.Put(t, "proc/self/mountinfo", "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n")
	return f, host.Machine{Host: f, Root: f.Root}
}

// FS is the temporary directory.
func (f *Fake) FS() fs.FS { return os.DirFS(f.Root) }

// Run records the command and answers it.
func (f *Fake) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	line := strings.ReplaceAll(strings.Join(append([]string{cmd.Name}, cmd.Args...), " "), f.Root, "")
	line = strings.TrimPrefix(line, "flock --verbose --wait 300 /run/airgap/kubeadm.lock ")
	if by := strings.Index(line, " kubeadm "); strings.HasPrefix(line, "sh -c ") && by > 0 {
		line = line[by+1:]
	}
	f.Calls = append(f.Calls, line)
	best := ""
	for prefix := range f.Answers {
		if strings.HasPrefix(line, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	if best == "" {
		return nil, nil
	}
	return f.Answers[best](cmd)
}

// Ran counts the commands that began so.
func (f *Fake) Ran(prefix string) int {
	n := 0
	for _, c := range f.Calls {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	return n
}

// Fails makes a command exit with code and say tail.
func (f *Fake) Fails(line string, code int, tail string) {
	f.Answers[line] = func(c host.Cmd) ([]byte, error) {
		return nil, &host.CommandError{Argv: append([]string{c.Name}, c.Args...), ExitCode: code, Tail: tail, Log: c.Log, Err: errors.New("exit status")}
	}
}

// Put writes a file.
func (f *Fake) Put(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(f.Root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Get reads a file, or says why that cannot be.
func (f *Fake) Get(name string) string {
	data, err := os.ReadFile(filepath.Join(f.Root, name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Has reports whether a file exists.
func (f *Fake) Has(name string) bool {
	_, err := os.Lstat(filepath.Join(f.Root, name))
	return err == nil
}

// Holding lists the files with text in them.
func (f *Fake) Holding(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(f.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if strings.Contains(f.Get(name), text) {
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// MustBeDone asserts a step's postcondition.
func MustBeDone(t *testing.T, done func(context.Context) (bool, error), want bool) {
	t.Helper()
	got, err := done(t.Context())
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	if got != want {
		t.Fatalf("postcondition holds: %v, want %v", got, want)
	}
}

// Golden compares got with the file testdata/NAME.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", file, got)
	}
}

// LabProgram is a real program of the lab: PACKAGE/NAME in AIRGAP_LAB_BIN,
// where it must be, else in the lab's cache, where it may be.
func LabProgram(t *testing.T, name string) string {
	t.Helper()
	dir, must := os.LookupEnv("AIRGAP_LAB_BIN")
	if !must {
		home, _ := os.UserHomeDir()
		dir = filepath.Join(home, ".cache/airgap-lab/bin")
	}
	program := filepath.Join(dir, name)
	if _, err := os.Stat(program); err != nil {
		if must {
			t.Fatal(err)
		}
		t.Skipf("%s is not built yet (the lab builds it): not compared with the real one", name)
	}
	return program
}

// LabKubeadms is the kubeadm of the minor that scenarios install, and those of others that
// scenarios have asked for.
func LabKubeadms(t *testing.T) []string {
	t.Helper()
	all := []string{LabProgram(t, "kubernetes/kubeadm")}
	others, err := filepath.Glob(filepath.Join(filepath.Dir(all[0]), "../kubernetes1*/kubeadm"))
	if err != nil {
		t.Fatal(err)
	}
	return append(all, others...)
}

// Output runs a program of this machine.
func Output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := host.Local{}.Run(t.Context(), host.Cmd{Name: name, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Starts has a program run as root in a cgroup.
func (f *Fake) Starts(t *testing.T, pid int, cgroup string, argv ...string) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d", pid)
	f.Put(t, dir+"/cmdline", strings.Join(argv, "\x00")+"\x00")
	f.Put(t, dir+"/cgroup", "0::"+cgroup+"\n")
	f.Put(t, dir+"/status", "Name:\tx\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n")
	if err := os.Symlink("/usr/local/bin/"+path.Base(argv[0]), filepath.Join(f.Root, dir, "exe")); err != nil {
		t.Fatal(err)
	}
}

// Joins puts a process into a network.
func (f *Fake) Joins(t *testing.T, process, network string) {
	t.Helper()
	link := filepath.Join(f.Root, process, "ns/net")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(network, link); err != nil {
		t.Fatal(err)
	}
}

// Compare requires one error for each text, in their order.
func Compare(t *testing.T, got field.ErrorList, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d errors, want %d: %v", len(got), len(want), got)
	}
	for i := range want {
		if !strings.Contains(got[i].Error(), want[i]) {
			t.Errorf("got %q, want it to say %q", got[i], want[i])
		}
	}
}

// Must panics with an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// WantPlan compares the step's plan with want and checks that planning changes nothing.
// The paths are shown without the lab's root.
func WantPlan(t *testing.T, f *Fake, s step.Step, want ...string) {
	t.Helper()
	before := f.tree(t)
	got, err := s.Plan(t.Context())
	if err != nil {
		t.Fatalf("plan %s: %v", s.Name, err)
	}
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], f.Root, "")
	}
	if !slices.Equal(got, want) {
		t.Errorf("plan of %s:\n  %s\nwant:\n  %s", s.Name, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	if after := f.tree(t); !slices.Equal(before, after) {
		t.Errorf("plan of %s changed files: %v, before %v", s.Name, after, before)
	}
}

func (f *Fake) tree(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(f.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, _ := os.ReadFile(path) // a socket has none
		all = append(all, path+" "+string(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Do runs steps until the first that fails.
func Do(t *testing.T, steps ...func() error) {
	t.Helper()
	for _, s := range steps {
		if err := s(); err != nil {
			t.Fatal(err)
		}
	}
}
