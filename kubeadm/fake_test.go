package kubeadm

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fakeHost is a machine in a temporary directory. Commands are recorded; an
// answer is looked up by the longest prefix of the command line.
type fakeHost struct {
	root    string
	calls   []string // the commands that were run, without the root
	answers map[string]func(host.Cmd) ([]byte, error)
}

// newHost is a machine that runs systemd, with an empty file system.
func newHost(t *testing.T) (*fakeHost, Machine) {
	t.Helper()
	f := &fakeHost{root: t.TempDir(), answers: map[string]func(host.Cmd) ([]byte, error){}}
	f.put(t, "proc/1/comm", "systemd\n")
	f.put(t, "proc/self/mountinfo", "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n")
	return f, Machine{Host: f, Root: f.root}
}

// newFake is the same for what needs the traces of a cluster.
func newFake(t *testing.T) (*fakeHost, Machine) {
	t.Helper()
	f, m := newHost(t)
	return f, m
}

// FS is the temporary directory.
func (f *fakeHost) FS() fs.FS { return os.DirFS(f.root) }

// Run records the command and answers it.
func (f *fakeHost) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	line := strings.ReplaceAll(strings.Join(append([]string{cmd.Name}, cmd.Args...), " "), f.root, "")
	line = strings.TrimPrefix(line, "flock --verbose --wait 300 /run/airgap/kubeadm.lock ")
	if by := strings.Index(line, " kubeadm "); strings.HasPrefix(line, "sh -c ") && by > 0 {
		line = line[by+1:]
	}
	f.calls = append(f.calls, line)
	best := ""
	for prefix := range f.answers {
		if strings.HasPrefix(line, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	if best == "" {
		return nil, nil
	}
	return f.answers[best](cmd)
}

// ran counts the commands that began so.
func (f *fakeHost) ran(prefix string) int {
	n := 0
	for _, c := range f.calls {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	return n
}

// fails makes a command exit with code and say tail.
func (f *fakeHost) fails(line string, code int, tail string) {
	f.answers[line] = func(c host.Cmd) ([]byte, error) {
		return nil, &host.CommandError{Argv: append([]string{c.Name}, c.Args...), ExitCode: code, Tail: tail, Log: c.Log, Err: errors.New("exit status")}
	}
}

// put writes a file.
func (f *fakeHost) put(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(f.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// get reads a file, or says why that cannot be.
func (f *fakeHost) get(name string) string {
	data, err := os.ReadFile(filepath.Join(f.root, name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// has reports whether a file is there.
func (f *fakeHost) has(name string) bool {
	_, err := os.Lstat(filepath.Join(f.root, name))
	return err == nil
}

// holding lists the files with text in them.
func (f *fakeHost) holding(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(f.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if strings.Contains(f.get(name), text) {
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// mustHold asserts a step's postcondition.
func mustHold(t *testing.T, done func(context.Context) (bool, error), want bool) {
	t.Helper()
	got, err := done(t.Context())
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	if got != want {
		t.Fatalf("postcondition holds: %v, want %v", got, want)
	}
}

// golden compares got with the file testdata/NAME.
func golden(t *testing.T, name string, got []byte) {
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
		t.Errorf("%s differs (go test -update writes it anew):\n%s", file, got)
	}
}

// labProgram is a real program of the lab: PACKAGE/NAME in AIRGAP_LAB_BIN,
// where it must be, else in the lab's cache, where it may be.
func labProgram(t *testing.T, name string) string {
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

// labKubeadms is the kubeadm of the minor that scenarios install, and those of others that
// scenarios have asked for.
func labKubeadms(t *testing.T) []string {
	t.Helper()
	all := []string{labProgram(t, "kubernetes/kubeadm")}
	others, err := filepath.Glob(filepath.Join(filepath.Dir(all[0]), "../kubernetes1*/kubeadm"))
	if err != nil {
		t.Fatal(err)
	}
	return append(all, others...)
}

// output runs a program of this machine.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := host.Local{}.Run(t.Context(), host.Cmd{Name: name, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
