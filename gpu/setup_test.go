package gpu

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// machine is a fake host in a temporary directory, with a fake systemd. It records other commands; the
// answer with the longest matching prefix applies.
type machine struct {
	root            string
	calls           []string
	env             map[string][]string // environment of the last run of a command line
	answers         map[string]func() (string, error)
	enabled, active map[string]bool
}

func newMachine(t *testing.T) (*machine, Setup) {
	t.Helper()
	m := &machine{root: t.TempDir(), env: map[string][]string{}, answers: map[string]func() (string, error){}, enabled: map[string]bool{}, active: map[string]bool{}}
	m.put(t, "proc/sys/kernel/osrelease", "5.14.0-1.el9.x86_64\n")
	return m, Setup{Host: m, Root: m.root}
}

func (m *machine) FS() fs.FS { return os.DirFS(m.root) }

func (m *machine) Run(_ context.Context, c host.Cmd) ([]byte, error) {
	line := strings.ReplaceAll(strings.Join(append([]string{c.Name}, c.Args...), " "), m.root, "")
	m.calls = append(m.calls, line)
	m.env[line] = c.Env
	best := ""
	for prefix := range m.answers {
		if strings.HasPrefix(line, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	if best != "" {
		out, err := m.answers[best]()
		return []byte(out), err
	}
	if c.Name == "systemctl" {
		return nil, m.systemctl(c.Args)
	}
	return nil, nil
}

func (m *machine) systemctl(args []string) error {
	unit, now := args[len(args)-1], slices.Contains(args, "--now")
	switch args[0] {
	case "enable", "disable":
		m.enabled[unit] = args[0] == "enable"
		if now {
			m.active[unit] = m.enabled[unit]
		}
	case "restart", "start", "stop":
		m.active[unit] = args[0] != "stop"
	case "is-enabled":
		return exit(m.enabled[unit])
	case "is-active":
		return exit(m.active[unit])
	}
	return nil
}

func exit(fine bool) error {
	if fine {
		return nil
	}
	return &host.CommandError{ExitCode: 3, Err: errors.New("exit status 3")}
}

// running returns the enabled and started units.
func (m *machine) running() []string {
	var all []string
	for unit, active := range m.active {
		if active && m.enabled[unit] {
			all = append(all, unit)
		}
	}
	return slices.Sorted(slices.Values(all))
}

// fails makes a command print a text and exit with 1.
func (m *machine) fails(line, said string) {
	m.answers[line] = func() (string, error) {
		return "", &host.CommandError{Argv: strings.Fields(line), ExitCode: 1, Tail: said, Err: errors.New("exit status 1")}
	}
}

func (m *machine) says(line, text string) {
	m.answers[line] = func() (string, error) { return text, nil }
}

// does sets the effect of a command.
func (m *machine) does(line string, what func()) {
	m.answers[line] = func() (string, error) { what(); return "", nil }
}

func (m *machine) put(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(m.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(m.root, name)); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) has(name string) bool {
	_, err := os.Lstat(filepath.Join(m.root, name))
	return err == nil
}

func (m *machine) get(name string) string {
	text, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// ran returns the recorded commands with a prefix.
func (m *machine) ran(prefix string) []string {
	return slices.DeleteFunc(slices.Clone(m.calls), func(line string) bool { return !strings.HasPrefix(line, prefix) })
}

// files returns all regular files, to compare a host before and after.
func (m *machine) files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(m.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func holds(t *testing.T, done func(context.Context) (bool, error), want bool) {
	t.Helper()
	got, err := done(t.Context())
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	if got != want {
		t.Fatalf("done: %t, want %t", got, want)
	}
}

// mustSay checks that the error contains all words and that its hint contains the advice.
func mustSay(t *testing.T, err error, advice string, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("want %q, got %v", w, err)
		}
	}
	var h interface{ Hint() string }
	if !errors.As(err, &h) || !strings.Contains(h.Hint(), advice) {
		t.Errorf("want hint %q, got %v", advice, err)
	}
}
