package detach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/remote/sshtest"
)

// roleVariable has this test program be a process of another host: airgap in a session of sshd, or in a unit.
const (
	roleVariable = "AIRGAP_LAB_ROLE"
	rootVariable = "AIRGAP_LAB_ROOT"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "session":
		os.Exit(labSession(os.Args[1:]))
	case "unit":
		os.Exit(labUnit(os.Args[1]))
	}
	os.Exit(m.Run())
}

// labHost is a host whose systemd-run starts a process.
type labHost struct{ root string }

func labMachine() host.Machine {
	root := os.Getenv(rootVariable)
	return host.Machine{Host: labHost{root}, Root: root}
}

func (h labHost) FS() fs.FS { return os.DirFS(h.root) }

func (h labHost) Run(_ context.Context, cmd host.Cmd) ([]byte, error) {
	if cmd.Name != "systemd-run" {
		return nil, nil
	}
	unit := exec.Command(os.Args[0], cmd.Args[len(cmd.Args)-1])
	unit.Env = append(os.Environ(), roleVariable+"=unit")
	unit.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return nil, unit.Start()
}

func labSession(args []string) int {
	fail := func(err error) int { fmt.Fprintln(os.Stderr, "airgap: error:", err); return 1 }
	if len(args) == 4 && args[0] == "run-unit" {
		if err := seen(labMachine(), args[1], args[3]); err != nil {
			return fail(err)
		}
		return 0
	}
	order, err := parseOrder(os.Getenv(OrderVariable))
	if err != nil {
		return fail(err)
	}
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	u := &unattended{runner: &runner{labMachine(), os.Args[0], "/", Streams{os.Stdin, os.Stdout, os.Stderr}, say}, order: order}
	done, err := u.runOrder(context.Background(), Command{Name: "install", Args: args})
	if err != nil {
		return fail(err)
	}
	return done.Code
}

func labUnit(name string) int {
	u := newUnit("/bin/sh", name)
	code, err := u.serve(context.Background(), labMachine())
	if err != nil {
		return 1
	}
	return code
}

// remoteLab is another host: real processes behind a server of SSH.
type remoteLab struct {
	*sshtest.Server

	dir, root string
	dialer    *remote.Dialer
	host      remote.Host
}

func newRemoteLab(t *testing.T) *remoteLab {
	t.Helper()
	fake, m := hosttest.New(t)
	for _, process := range []string{"self", "1"} {
		for _, link := range sameHost() {
			path := m.Path("/proc/" + process + "/" + link)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.Symlink("first:"+link, path))
		}
	}
	key := sshtest.NewKey(t)
	l := &remoteLab{Server: sshtest.Serve(t, sshtest.AllowAll, key), dir: t.TempDir(), root: fake.Root}
	l.Sudo(t, "s3cret", false, true)
	l.Program(t, "airgap", fmt.Sprintf(`export LAB=%s; %s=%s %s=session exec %s "$@"`, l.dir, rootVariable, fake.Root, roleVariable, os.Args[0]))
	l.dialer = &remote.Dialer{Keys: &remote.Keys{}, Known: &remote.KnownHosts{}}
	l.host = remote.Host{Name: "node2", Address: "127.0.0.1", Port: l.Port(), User: "ops", HostKey: ssh.FingerprintSHA256(key.PublicKey())}
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return !fake.Has("run/airgap-run") }, 20*time.Second, 10*time.Millisecond, "left behind")
	})
	return l
}

func (l *remoteLab) connect(t *testing.T) *remote.Client {
	t.Helper()
	c, err := l.dialer.Dial(t.Context(), l.host, "")
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.BecomeRoot(t.Context(), "s3cret"))
	return c
}

// ordered is the command that airgap runs on the host.
func ordered(run, input, script string, out *both) remote.Command {
	return remote.Command{Args: []string{"airgap", "-c", script}, Env: []string{Order{run, len(input)}.Variable()}, Signal: "INT",
		Stdin: strings.NewReader(input), Stdout: &out.out, Stderr: &out.err}
}

// both are the streams of a command.
type both struct{ out, err safe }

type safe struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// awaits waits for a text, or long enough for a test to fail.
func (s *safe) awaits(text string) {
	for end := time.Now().Add(30 * time.Second); !strings.Contains(s.String(), text) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

// ticks is a command with a secret, which writes after the connection is lost, too.
const ticks = `read -r token; echo x >>$LAB/runs; i=0; while [ ! -e $LAB/go ]; do echo tick >&2; sleep 0.02; done; echo "${#token} end" >&2; echo result; exit 3`

// TestConnectionToAHostIsLost: real processes. The client dies of its connection, the command does not. A new process of
// airgap gets the output and the result, and the unit ends.
func TestConnectionToAHostIsLost(t *testing.T) {
	l := newRemoteLab(t)
	var lost, next both
	go func() { lost.err.awaits("tick\ntick\n"); l.Cut() }()
	require.ErrorIs(t, l.connect(t).Run(t.Context(), ordered("A", "t0ken-9\n", ticks, &lost)), remote.ErrLost)
	c := l.connect(t)
	go func() { next.err.awaits("tick"); _ = os.WriteFile(l.dir+"/go", nil, 0o600) }()
	err := c.Run(t.Context(), ordered("B", "another\n", ticks, &next))
	exit, is := errors.AsType[*remote.ExitError](err)
	require.True(t, is, "%v", err)
	assert.Equal(t, 3, exit.Code)
	assert.Equal(t, "result\n", next.out.String())
	assert.True(t, strings.HasSuffix(next.err.String(), "tick\n7 end\n"), next.err.String())
	runs, err := os.ReadFile(l.dir + "/runs")
	require.NoError(t, err)
	assert.Equal(t, "x\n", string(runs), "it ran once")
	assert.NotContains(t, l.Asked()+lost.err.String()+next.err.String(), "t0ken")
	require.NoError(t, c.Run(t.Context(), remote.Command{Args: []string{"airgap", "run-unit", "install", "--seen", "A"}}))
}

// TestCommandOnAHostIsCancelled: Ctrl-C of the first host ends the command, and its unit.
func TestCommandOnAHostIsCancelled(t *testing.T) {
	l := newRemoteLab(t)
	ctx, cancel := context.WithCancel(t.Context())
	var out both
	go func() { out.err.awaits("begun"); cancel() }()
	err := l.connect(t).Run(ctx, ordered("A", "", `trap 'echo x >$LAB/cancelled; exit 130' INT; echo begun >&2; while :; do sleep 0.02; done`, &out))
	require.ErrorIs(t, err, context.Canceled)
	assert.FileExists(t, l.dir+"/cancelled")
}
