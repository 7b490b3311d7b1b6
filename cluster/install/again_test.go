package install

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/ui"
)

const (
	inNamespace = "AIRGAP_TEST_NAMESPACE" // this process has its own mount namespace
	holds       = "AIRGAP_TEST_HOLDS"     // this process only holds the lock of the host, and writes this file then
)

func TestMain(m *testing.M) {
	file := os.Getenv(holds)
	if file == "" {
		os.Exit(m.Run())
	}
	_, err := hostcheck.LockHost()
	if err == nil {
		err = os.WriteFile(file, nil, 0o600)
	}
	if err != nil {
		panic(err)
	}
	time.Sleep(time.Minute) // until the test ends it
}

// holdLock starts an airgap command that has the lock of the host. end ends it.
func holdLock(t *testing.T, args ...string) (end func()) {
	t.Helper()
	held := filepath.Join(t.TempDir(), "held")
	cmd := &exec.Cmd{Path: os.Args[0], Args: append([]string{"/usr/bin/airgap"}, args...), Env: append(os.Environ(), holds+"="+held), Stderr: os.Stderr}
	require.NoError(t, cmd.Start())
	end = sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	t.Cleanup(end)
	require.Eventually(t, func() bool { return site.Exists(held) }, 20*time.Second, 10*time.Millisecond, "the other process has no lock")
	return end
}

// waits calls back when airgap says that it waits for an earlier run.
type waits struct {
	mu    sync.Mutex
	text  strings.Builder
	begun func()
}

func (w *waits) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if w.begun != nil && strings.Contains(w.text.String(), "still works on this host; waiting for its end until ") {
		go w.begun()
		w.begun = nil
	}
	return len(p), nil
}

// TestRunAgain: airgap install that is run again waits for its earlier run, can be interrupted then, and begins from the
// start after it: that run has changed the host. It does not wait for another command. The test has a namespace with an
// empty /var/lib, for the lock of a host.
func TestRunAgain(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		runInNamespace(t)
		return
	}
	require.NoError(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	for _, dir := range []string{"/var/lib", "/etc/airgap"} {
		if site.Exists(dir) {
			require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, ""))
		}
	}
	b := bundletest.New(t)
	run := func(ctx context.Context, begun func()) (string, error) {
		w := &waits{begun: begun}
		o := Options{Dir: b.Dir, Keys: []string{filepath.Join(b.Dir, bundle.PublicKeyName)}, Node: "cp1", NoSSH: true, Console: &ui.Terminal{In: strings.NewReader(""), Err: w, Format: ui.Plain}}
		_, err := Run(ctx, o)
		return w.text.String(), err
	}

	end := holdLock(t, "upgrade", b.Dir)
	said, err := run(t.Context(), nil)
	require.ErrorIs(t, err, hostcheck.ErrBusy)
	assert.ErrorContains(t, err, "airgap upgrade (process ")
	assert.NotContains(t, said, "waiting")
	end()

	end = holdLock(t, "install", b.Dir)
	ctx, cancel := context.WithCancel(t.Context())
	said, err = run(ctx, cancel)
	require.ErrorIs(t, err, context.Canceled)
	assert.Contains(t, said, "airgap install (process ")

	said, err = run(t.Context(), func() {
		assert.NoError(t, os.Remove(filepath.Join(b.Dir, bundle.IndexName)))
		end()
	})
	require.ErrorContains(t, err, bundle.IndexName, said)
	release, err := hostcheck.LockHost()
	require.NoError(t, err, "the failed run keeps the lock")
	release()
}

// runInNamespace runs the test in a process with its own mount namespace, as root there.
func runInNamespace(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRunAgain$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if _, ran := errors.AsType[*exec.ExitError](err); err != nil && !ran {
		t.Skipf("make a mount namespace: %v", err)
	}
	require.NoError(t, err, string(out))
}
