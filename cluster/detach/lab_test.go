package detach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/ui/uitest"
)

const sessionCgroup = "0::/user.slice/user-0.slice/session-4.scope\n"

// lab is a host with a login session, at a terminal. Its systemd-run starts units in this process, with a shell in place
// of airgap: its arguments are -c and a script.
type lab struct {
	*hosttest.Fake
	*runner

	tty   *uitest.Terminal
	stop  context.CancelFunc // stops all units
	units sync.WaitGroup
	mu    sync.Mutex
	said  []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	fake, machine := hosttest.New(t)
	fake.Put(t, "proc/self/cgroup", sessionCgroup)
	for _, process := range []string{"self", "1"} {
		for _, link := range sameHost() {
			path := machine.Path("/proc/" + process + "/" + link)
			require.NoError(t, os.MkdirAll(path[:strings.LastIndexByte(path, '/')], 0o755))
			require.NoError(t, os.Symlink("first:"+link, path))
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	l := &lab{Fake: fake, tty: uitest.New(t), stop: stop}
	l.runner = &runner{machine: machine, program: "/usr/bin/airgap", dir: t.TempDir(), streams: Streams{l.tty.File, l.tty.File, l.tty.File},
		say: func(format string, args ...any) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.said = append(l.said, fmt.Sprintf(format, args...))
		}}
	fake.Answers["systemd-run"] = func(c host.Cmd) ([]byte, error) { return nil, l.startUnit(ctx, c.Args[len(c.Args)-1]) }
	t.Cleanup(func() { stop(); l.units.Wait() })
	return l
}

func (l *lab) startUnit(ctx context.Context, name string) error {
	if l.Has("run/airgap-run/" + name + ".sock") {
		return &host.CommandError{ExitCode: 1, Tail: "Unit " + unitOf(name) + ".service already exists.", Err: errors.New("exit status 1")}
	}
	u := newUnit("/bin/sh", name)
	u.seenLimit = time.Minute
	l.units.Go(func() { _, _ = u.serve(ctx, l.machine) })
	return nil
}

func script(text string) Command { return Command{Name: "install", Args: []string{"-c", text}} }

// leaves starts a command and loses its session after the text was shown.
func (l *lab) leaves(t *testing.T, c Command, after string) {
	t.Helper()
	conn, err := l.start(t.Context(), c)
	require.NoError(t, err)
	f, err := encoded(startFrame, request{Args: c.Args, Dir: l.dir, Environment: os.Environ(), Terminal: [3]bool{true, true, true}})
	require.NoError(t, err)
	require.NoError(t, f.write(conn))
	for text := ""; !strings.Contains(text, after); {
		shown, err := readFrame(conn.in)
		require.NoError(t, err)
		text += string(shown.data)
	}
	require.NoError(t, conn.Close())
}

// ends waits until the command of the unit has ended.
func (l *lab) ends(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		all := connectAll(l.machine)
		for _, conn := range all {
			conn.Close()
		}
		return len(all) == 1 && !all[0].state.Ended.IsZero()
	}, 20*time.Second, 10*time.Millisecond)
}

// runs runs a command to its end and requires its exit code.
func (l *lab) runs(t *testing.T, c Command, code int) {
	t.Helper()
	done, err := l.run(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, Outcome{Ran: true, Code: code}, done)
}

// isGone requires that no unit and no file is left.
func (l *lab) isGone(t *testing.T) {
	t.Helper()
	l.units.Wait()
	assert.False(t, l.Has("run/airgap-run"), "left behind")
}

func (l *lab) saidAll() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.said, "\n")
}
