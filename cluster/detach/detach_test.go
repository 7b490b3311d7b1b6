package detach

import (
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

// TestCommandRunsInItsUnit: output, directory, environment and exit code are those of the command, and nothing is left.
func TestCommandRunsInItsUnit(t *testing.T) {
	l := newLab(t)
	t.Setenv("HTTPS_PROXY", "http://user:secret@proxy")
	l.runs(t, script(`test -t 0 && test -t 1 && test -t 2 && pwd && echo $HTTPS_PROXY && stty size && exit 7`), 7)
	l.tty.Await(t, l.dir+"\r\nhttp://user:secret@proxy\r\n50 110\r\n")
	assert.Contains(t, l.saidAll(), "airgap install runs in the unit airgap-run-install.")
	l.isGone(t)
	assert.Equal(t, []string{"systemd-run --quiet --collect --unit=airgap-run-install --slice=system.slice --description=airgap install " +
		"--property=KillMode=mixed -- /usr/bin/airgap run-unit install"}, l.Calls, "arguments and environment are not for all users")
}

// TestStreamsStaySeparate: a redirected output gets only its stream, and a piped input ends.
func TestStreamsStaySeparate(t *testing.T) {
	l := newLab(t)
	out, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	in, typed, err := os.Pipe()
	require.NoError(t, err)
	go func() { _, _ = io.WriteString(typed, "token\n"); typed.Close() }()
	l.streams.In, l.streams.Out = in, out
	l.runs(t, script(`echo progress >&2; echo result of $(cat); test ! -t 0`), 0)
	l.tty.Await(t, "progress\r\n")
	assert.NotContains(t, l.tty.Text(), "result")
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	assert.Equal(t, "result of token\n", string(text))
}

// TestSecretIsTyped: the terminal of the unit asks, and no terminal shows the answer.
func TestSecretIsTyped(t *testing.T) {
	l := newLab(t)
	l.tty.Types(t, [2]string{"Token: ", "s3cret\r"})
	l.runs(t, script(`stty -echo; printf 'Token: '; read -r token; stty echo; echo; echo "${#token} characters"`), 0)
	l.tty.Await(t, "6 characters")
	assert.NotContains(t, l.tty.Text(), "s3cret")
	assert.True(t, l.tty.Echoes(t), "the terminal is as before")
}

func TestCtrlCCancels(t *testing.T) {
	l := newLab(t)
	l.tty.Types(t, [2]string{"begun", "\x03"})
	l.runs(t, script(`trap 'echo canceled; exit 130' INT; echo begun; while :; do sleep 0.05; done`), 130)
	l.tty.Await(t, "canceled")
	l.isGone(t)
}

// TestCtrlZIsNoStop: no shell could continue the command in the unit. The kernel stops no orphaned process group.
func TestCtrlZIsNoStop(t *testing.T) {
	l := newLab(t)
	l.tty.Types(t, [2]string{"begun", "\x1a"})
	l.runs(t, script(`echo begun; sleep 0.3; echo done`), 0)
}

// TestSessionEnds: the command goes on, and the same command shows all of its output and its exit code.
func TestSessionEnds(t *testing.T) {
	l := newLab(t)
	c := script(`echo begun; while [ ! -e go ]; do sleep 0.05; done; echo done; exit 3`)
	l.leaves(t, c, "begun")
	go func() {
		l.tty.Shows("begun")
		_ = os.WriteFile(l.dir+"/go", nil, 0o600)
	}()
	l.runs(t, c, 3)
	l.tty.Await(t, "done")
	assert.Contains(t, l.saidAll(), "airgap install has run in the unit airgap-run-install since ")
	l.isGone(t)
	assert.Equal(t, 1, l.Ran("systemd-run"))
}

// TestResultIsShownOnce: a command that ended with no user is shown to the next one, who then can run it again.
func TestResultIsShownOnce(t *testing.T) {
	l := newLab(t)
	c := script(`echo x >>runs; echo "run $(wc -l <runs)"; exit 4`)
	l.leaves(t, c, "run")
	l.ends(t)
	l.runs(t, c, 4)
	l.tty.Await(t, "run 1")
	assert.Contains(t, l.saidAll(), "Run the same command again for a new run.")
	l.isGone(t)
	l.runs(t, c, 4)
	l.tty.Await(t, "run 2")
}

// TestOtherCommand: one that runs is named with the way to follow it; one that has ended makes room.
func TestOtherCommand(t *testing.T) {
	l := newLab(t)
	c := script(`echo begun; while [ ! -e go ]; do sleep 0.05; done; exit 5`)
	l.leaves(t, c, "begun")
	for name, other := range map[string]Command{
		"another command":  {Name: "upgrade", Args: []string{"-c", "true"}},
		"another argument": script("true"),
	} {
		_, err := l.run(t.Context(), other)
		require.ErrorContains(t, err, "another airgap command is changing this host: airgap -c 'echo begun;", name)
		assert.Contains(t, advice.Of(err), "follow it with its own command: airgap -c '", name)
	}
	about, next := Running(l.machine)
	assert.Contains(t, about, "in unit airgap-run-install")
	assert.Contains(t, next, "cd "+l.dir, "no directory is known to be the same")
	l.Put(t, "proc/self/cgroup", "0::/system.slice/airgap-run-install.service\n")
	about, _ = Running(l.machine)
	assert.Empty(t, about, "the command of the unit itself")
	l.Put(t, "proc/self/cgroup", sessionCgroup)
	require.NoError(t, os.WriteFile(l.dir+"/go", nil, 0o600))
	l.ends(t)
	l.runs(t, Command{Name: "upgrade", Args: []string{"-c", "echo upgraded"}}, 0)
	assert.Contains(t, l.saidAll(), "with exit code 5.")
	l.isGone(t)
}

// TestUnitDoesNotStart: the command then runs in the session, with a note.
func TestUnitDoesNotStart(t *testing.T) {
	l := newLab(t)
	l.Fails("systemd-run", 1, "Failed to start transient service unit: Access denied")
	done, err := l.run(t.Context(), script("true"))
	require.NoError(t, err)
	assert.False(t, done.Ran)
	assert.Contains(t, done.Note, "the command ends with this login session: start unit airgap-run-install: ")
	assert.Contains(t, done.Note, "Access denied")
}

// TestUnitIsStopped: systemctl stop cancels the command as SIGTERM does.
func TestUnitIsStopped(t *testing.T) {
	l := newLab(t)
	go func() {
		l.tty.Shows("begun")
		l.stop()
	}()
	l.runs(t, script(`trap 'echo stopped; exit 130' TERM; echo begun; while :; do sleep 0.05; done`), 130)
	l.tty.Await(t, "stopped")
	l.isGone(t)
}

// TestHangUpLeavesTheCommand: SIGHUP of a lost connection, SIGTERM of logind or sudo.
func TestHangUpLeavesTheCommand(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		l := newLab(t)
		go func() {
			l.tty.Shows("begun")
			_ = syscall.Kill(os.Getpid(), s)
		}()
		c := script(`echo begun; while [ ! -e go ]; do sleep 0.05; done; echo done`)
		_, err := l.run(t.Context(), c)
		require.ErrorContains(t, err, "the command goes on in unit airgap-run-install")
		assert.True(t, l.tty.Echoes(t), "the terminal is as before")
		require.NoError(t, os.WriteFile(l.dir+"/go", nil, 0o600))
		l.runs(t, c, 0)
		l.tty.Await(t, "done")
	}
}

// TestSlowClient: a terminal that nobody reads does not hold the command.
func TestSlowClient(t *testing.T) {
	l := newLab(t)
	c := script(`i=0; while [ $i -lt 4 ]; do head -c 1000000 /dev/zero | tr '\0' x; echo; i=$((i+1)); done; echo "the end"`)
	conn, err := l.start(t.Context(), c)
	require.NoError(t, err)
	defer conn.Close()
	f, err := encoded(startFrame, request{Args: c.Args, Dir: l.dir, Environment: os.Environ(), Terminal: [3]bool{true, true, true}})
	require.NoError(t, err)
	require.NoError(t, f.write(conn))
	l.ends(t)
	l.runs(t, c, 0)
	l.tty.Await(t, "the end")
}

// TestUnitIsLost: a unit that was killed leaves a socket, which the next one replaces.
func TestUnitIsLost(t *testing.T) {
	l := newLab(t)
	l.Put(t, "run/airgap-run/install.sock", "")
	l.Answers["systemd-run"] = func(host.Cmd) ([]byte, error) {
		u := newUnit("/bin/sh", "install")
		l.units.Go(func() { _, _ = u.serve(t.Context(), l.machine) })
		return nil, nil
	}
	l.runs(t, script("exit 6"), 6)
	l.isGone(t)
}

// TestNoRequest: a unit without a client ends.
func TestNoRequest(t *testing.T) {
	l := newLab(t)
	u := newUnit("/bin/sh", "install")
	u.requestLimit = 10 * time.Millisecond
	_, err := u.serve(t.Context(), l.machine)
	require.ErrorContains(t, err, "no request within 10ms")
	l.isGone(t)
}

// TestDirectoryIsMissing: an error of the unit is shown.
func TestDirectoryIsMissing(t *testing.T) {
	l := newLab(t)
	l.dir = "/missing"
	l.runs(t, script("true"), 1)
	assert.Contains(t, l.tty.Screen(), "airgap: error: start the command in its directory: stat /missing: ")
}

// TestUnitEndsBesideANewOne: units that end remove the common directory. The next unit may have just created it.
func TestUnitEndsBesideANewOne(t *testing.T) {
	dir := t.TempDir() + "/run"
	for range 1000 {
		var enders sync.WaitGroup
		for range listenTries / 2 {
			enders.Go(func() { _ = os.Remove(dir) })
		}
		l, err := listenAt(dir + "/install.sock")
		enders.Wait()
		require.NoError(t, err)
		l.Close()
	}
}
