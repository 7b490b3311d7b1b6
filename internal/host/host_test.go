package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
)

func TestRunReportsWhatTheCommandSaid(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	_, err := host.Local{}.Run(t.Context(), host.Cmd{Name: "sh", Args: []string{"-c", "echo out; echo why >&2; exit 7"}, Log: log})
	var failed *host.CommandError
	if !errors.As(err, &failed) || failed.ExitCode != 7 || failed.Tail != "out\nwhy" {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"sh -c", "why", log} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	_, err = host.Local{}.Run(t.Context(), host.Cmd{Name: "sh", Args: []string{"-c", "echo again >&2; exit 1"}, Log: log})
	if !errors.As(err, &failed) || failed.Tail != "again" {
		t.Errorf("the second command's error repeats the first: %v", err)
	}
	if data, _ := os.ReadFile(log); !strings.Contains(string(data), "out\n") || !strings.Contains(string(data), "why\n") {
		t.Errorf("log holds %q", data)
	}
}

func TestRunGivesStdoutAndStdin(t *testing.T) {
	out, err := host.Local{}.Run(t.Context(), host.Cmd{Name: "sh", Args: []string{"-c", `cat; echo "$X"`}, Stdin: strings.NewReader("in\n"), Env: []string{"X=env"}})
	if err != nil || string(out) != "in\nenv\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestRunLeftBehind: a command that has succeeded has, also when a process that it left behind
// keeps its stdout open.
func TestRunLeftBehind(t *testing.T) {
	t.Parallel() // it takes 10 s
	out, err := host.Local{}.Run(t.Context(), host.Cmd{Name: "sh", Args: []string{"-c", "sleep 15 & echo out"}})
	if err != nil || string(out) != "out\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestRunEndsTheWholeGroup(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := host.Local{}.Run(ctx, host.Cmd{Name: "sh", Args: []string{"-c", "sleep 60 & wait"}})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 9*time.Second {
		t.Errorf("got %v after %s", err, time.Since(began))
	}
}

// TestRemove removes a file and the draft of a killed WriteFile, and
// nothing else.
func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "90-x.conf")
	for _, name := range []string{"90-x.conf", ".90-x.conf.airgap-new", ".90-x.conf.swp", "90-x.conf.rpmsave"} {
		if err := host.WriteFile(filepath.Join(filepath.Dir(path), name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := host.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if got := strings.ReplaceAll(strings.Join(left, " "), filepath.Dir(path)+"/", ""); err != nil || got != ".90-x.conf.swp 90-x.conf.rpmsave" {
		t.Errorf("left: %s, %v", got, err)
	}
	if err := host.Remove(filepath.Join(t.TempDir(), "no", "such")); err != nil {
		t.Error(err)
	}
}

// TestWriteFileAfterAKill finds the temporary file of a run that was killed.
func TestWriteFileAfterAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.key")
	left := filepath.Join(filepath.Dir(path), ".ca.key.airgap-new")
	if err := os.WriteFile(left, []byte("ha"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := host.WriteFile(path, []byte("half a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ok, err := host.FileMatches(path, []byte("half a key"), 0o600); err != nil || !ok {
		t.Errorf("it holds: %v, %v", ok, err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("the temporary file is still there")
	}
}

func TestWriteFileHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	if ok, err := host.FileMatches(path, nil, 0o600); ok || err != nil {
		t.Errorf("a missing file holds: %v, %v", ok, err)
	}
	if err := host.WriteFile(path, []byte("x"), 0o640); err != nil {
		t.Fatal(err)
	}
	for perm, want := range map[os.FileMode]bool{0o640: true, 0o600: false} {
		if ok, err := host.FileMatches(path, []byte("x"), perm); ok != want || err != nil {
			t.Errorf("mode %o: %v, %v", perm, ok, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
