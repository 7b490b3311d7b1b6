package hostcheck

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// holdFor is the environment variable of a process that only holds a lock: FILE.
const holdFor = "AIRGAP_TEST_LOCK"

func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"netprobe", "agent"}) {
		fmt.Printf("%d\n", os.Getpid()) // see TestLocalAgent
		return
	}
	file := os.Getenv(holdFor)
	if file == "" {
		os.Exit(m.Run())
	}
	_, err := lockAt(file)
	if err == nil {
		err = os.WriteFile(file+".held", nil, 0o600)
	}
	if err != nil {
		panic(err)
	}
	time.Sleep(time.Minute) // until the test ends it
}

// held is a lock that another process holds, which looks like airgap with these arguments. end ends it.
func held(t *testing.T, args ...string) (file string, end func()) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "lock")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: program, Args: append([]string{"/usr/bin/airgap"}, args...), Env: append(os.Environ(), holdFor+"="+file), Stderr: os.Stderr}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(end)
	for range 1000 {
		if _, err := os.Stat(file + ".held"); err == nil {
			return file, end
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the other process has no lock")
	return "", nil
}

// TestBusyNamesTheCommand: the error has the command and its process.
func TestBusyNamesTheCommand(t *testing.T) {
	file, _ := held(t, "upgrade", "node", "10.0.0.1:5000", "--skip", "swap")
	_, err := lockAt(file)
	if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), ": airgap upgrade node (process ") || !strings.Contains(advice.Of(err), "ps -fp ") {
		t.Errorf("got %v\nhint: %s", err, advice.Of(err))
	}
}

// TestAwaitLock: a command that is run again waits for its earlier run, names it, and has an end. It does not wait for
// another command.
func TestAwaitLock(t *testing.T) {
	file, end := held(t, "install", "/mnt/bank")
	p := &uitest.Recorder{Progress: ui.Discard()}
	_, _, err := awaitLockAt(t.Context(), file, "install", 0, p)
	if !errors.Is(err, ErrBusy) || !strings.HasPrefix(err.Error(), "wait 0s for the earlier run: another airgap command") {
		t.Errorf("at the end of the wait: %v", err)
	}
	if _, _, err := awaitLockAt(t.Context(), file, "upgrade", time.Minute, p); !errors.Is(err, ErrBusy) || len(p.Said) > 0 {
		t.Errorf("waits for another command: %v, said %q", err, p.Said)
	}
	go func() { time.Sleep(300 * time.Millisecond); end() }()
	release, waited, err := awaitLockAt(t.Context(), file, "install", time.Minute, p)
	if err != nil || !waited {
		t.Fatalf("waited %t, %v", waited, err)
	}
	defer release()
	if len(p.Said) != 1 || !strings.HasPrefix(p.Said[0], "airgap install (process ") || !strings.Contains(p.Said[0], "waiting for its end until ") {
		t.Errorf("said %q", p.Said)
	}
}
