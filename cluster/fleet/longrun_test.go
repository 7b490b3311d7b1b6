package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/detach"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui"
)

// farAirgap is airgap on another host, with the messages of a client of a unit. The first connection is lost.
const farAirgap = `cd %DIR%; run=${AIRGAP_RUN%%%%:*}
case $1 in
run-unit) echo "$*" >>acks; [ "$2" != --wait ] || { rm -f left; echo "waited" >&2; }; exit ;;
membership) [ ! -e left ] || { echo '{"joined":true,"running":{"name":"join","since":"2026-11-29T10:00:00Z"}}'; exit; }; echo '{"joined":true}'; exit ;;
esac
notice() { echo "{\"event\":\"unit\",\"for\":\"$run\",\"run\":\"$1\",\"name\":\"join\",\"unit\":\"airgap-run-join\",\"since\":\"2026-11-29T10:00:00Z\",\"from\":0$2}"; }
first() { echo '{"event":"step","text":"one","total":2}'; echo 'a message'; }
if [ ! -e begun ]; then
	cat >input; env >environment; echo "$*" >begun
	{ notice $run; first; printf 'half a li'; } >&2
	exec sleep 20
fi
{ notice ${EARLIER-$run}; first; echo 'half a line'; echo '{"event":"step","text":"two","done":1,"total":2}'
	echo '{"event":"step-end","step":"two","outcome":"changed","seconds":7}'; } >&2
echo '{"node":"node2","changed":7}'; exit ${CODE-0}`

// displayed records the display of a host.
type displayed struct {
	mu    sync.Mutex
	lines []string
}

func (s *displayed) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *displayed) Step(n, of int, title string) { s.add("%d/%d %s", n, of, title) }
func (s *displayed) Now(what string)              { s.add("%s", what) }
func (s *displayed) Ended(e ui.StepEnd)           { s.add("%s %s", e.Outcome, e.Step) }
func (s *displayed) End(error)                    {}

func (s *displayed) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

// far returns a connected host with this airgap, and the directory of its files.
func far(t *testing.T, script string) (*Fleet, *Member, *sshtest.Server, string) {
	t.Helper()
	f, m, s, _ := enrolling(t)
	dir := t.TempDir()
	s.Program(t, "airgap", strings.NewReplacer("%DIR%", dir, "%%", "%").Replace(script))
	return f, m, s, dir
}

// awaits waits for a file of the other host, or long enough for a test to fail.
func awaits(path string) bool {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

func reads(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// TestLongRunIsFollowed: the connection is lost in the middle. The command runs once, its output is in the log and on the
// display once, and its result is received. The token is only in its standard input.
func TestLongRunIsFollowed(t *testing.T) {
	t.Parallel() // it waits for knockAgain
	f, m, s, dir := far(t, farAirgap)
	go func() {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if text, err := os.ReadFile(m.log.file.Name()); err == nil && strings.Contains(string(text), "a message") {
				break
			}
		}
		s.Cut()
	}()
	line := &displayed{}
	var run RemoteRun
	err := f.UntilDone(t.Context(), m, line, func() error {
		run = RemoteRun{Show: line}
		return m.RunLong(t.Context(), &run, "s3cret\n", "join", "--node", "node2")
	})
	require.NoError(t, err)
	var result Joined
	require.NoError(t, readResult(run.stdout.Bytes(), &result))
	assert.Equal(t, 7, result.Changed)
	log := reads(t, m.log.file.Name())
	for _, once := range []string{`"text":"one"`, "\na message\n", "half a line\n", `"text":"two"`, `{"node":"node2","changed":7}`, "runs in the unit airgap-run-join", "following airgap join"} {
		assert.Equal(t, 1, strings.Count(log, once), "%s\n%s", once, log)
	}
	var steps []string
	for _, text := range line.all() {
		if strings.Contains(text, "/2 ") || strings.Contains(text, "changed") {
			steps = append(steps, text)
		}
	}
	assert.Equal(t, []string{"1/2 one", "2/2 two", "changed two"}, steps)
	assert.Equal(t, "a message\nhalf a line\n", run.said.String())
	assert.Equal(t, "join --node node2\n", reads(t, dir+"/begun"))
	assert.Equal(t, "s3cret\n", reads(t, dir+"/input"))
	assert.Regexp(t, `^run-unit join --seen [A-Z2-7]{26}\n$`, reads(t, dir+"/acks"))
	assert.Contains(t, reads(t, dir+"/environment"), host.OriginHere().Variable()+"\n", "the operator and this run")
	assert.Nil(t, m.long)
	for where, text := range map[string]string{"environment": reads(t, dir+"/environment"), "arguments": s.Asked(), "log": log, "display": strings.Join(line.all(), "\n")} {
		assert.NotContains(t, text, "s3cret", where)
	}
}

// TestLongRunOfAnEarlierProcess: the host shows a run that it did not order, and the result is of that one.
func TestLongRunOfAnEarlierProcess(t *testing.T) {
	_, m, _, dir := far(t, "EARLIER=4711; CODE=3; "+farAirgap)
	require.NoError(t, os.WriteFile(dir+"/begun", nil, 0o600))
	line := &displayed{}
	run := RemoteRun{Show: line}
	err := m.RunLong(t.Context(), &run, "", "join")
	failed, is := errors.AsType[*remoteError](err)
	require.True(t, is, "%v", err)
	assert.Equal(t, 3, failed.code)
	assert.Equal(t, "a message\nhalf a line", failed.text)
	assert.Contains(t, line.all()[0], "following airgap join, which has run in the unit airgap-run-join since 2026-11-29 ")
	assert.Equal(t, "run-unit join --seen 4711\n", reads(t, dir+"/acks"))
}

// TestLongRunWithoutUnit: an airgap that knows no units, or a host that starts none, runs the command in the session.
func TestLongRunWithoutUnit(t *testing.T) {
	_, m, _, dir := far(t, `cd %DIR%; echo "$*" >>asked; read -r token; echo "airgap: error: got ${#token}" >&2; exit 1`)
	err := m.RunLong(t.Context(), &RemoteRun{}, "s3cret\n", "join")
	require.EqualError(t, err, "got 6")
	assert.Equal(t, "join\n", reads(t, dir+"/asked"), "nothing to receive")
	assert.Contains(t, reads(t, m.log.file.Name()), "airgap: error: got 6")
}

// TestLongRunIsCancelled: Ctrl-C ends the command with SIGINT. A closed terminal, a shutdown of this host, and an operator
// on another host who continues leave it.
func TestLongRunIsCancelled(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		want  bool
	}{
		"Ctrl-C": {nil, true}, "a closed terminal": {detach.ErrHangUp, false}, "a shutdown of this host": {detach.ErrTerminated, false},
		"another operator continues": {fmt.Errorf("airgap upgrade: %w", elsewhere{}), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, m, _, dir := far(t, `cd %DIR%; trap 'echo x >cancelled; exit 130' INT; trap '' PIPE; echo x >begun; i=0; while [ $i -lt 10 ]; do sleep 0.1; i=$((i+1)); done; echo x >done`)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { awaits(dir + "/begun"); cancel(c.cause) }()
			err := m.RunLong(ctx, &RemoteRun{}, "", "join")
			require.ErrorIs(t, err, context.Canceled)
			if c.want {
				assert.True(t, awaits(dir+"/cancelled"))
				return
			}
			assert.True(t, awaits(dir+"/done"))
			assert.NoFileExists(t, dir+"/cancelled")
			assert.Contains(t, reads(t, m.log.file.Name()), c.cause.Error()+"; the command goes on")
			require.ErrorIs(t, m.client.Run(t.Context(), remote.Command{Args: []string{"true"}}), remote.ErrLost)
		})
	}
}

// elsewhere is the loss of the Lease.
type elsewhere struct{}

func (elsewhere) Error() string    { return "kim@cp2 runs airgap upgrade" }
func (elsewhere) OthersGoOn() bool { return true }

// TestHostileOutput: output without end takes no memory and no disk without end, and notices that are forged change nothing.
func TestHostileOutput(t *testing.T) {
	_, m, _, _ := far(t, `trap 'exit 130' INT; while :; do head -c 9000000 /dev/zero; done`)
	err := m.RunLong(t.Context(), &RemoteRun{}, "", "join")
	require.ErrorContains(t, err, "airgap on node2 printed more than 32 MiB")
	assert.False(t, wentAway(err))

	run := RemoteRun{}
	out := &longOutput{run: &run, log: &capped{log: m.log}, long: &longRun{id: "A", logged: map[string]int64{}}}
	for range 5 {
		_, _ = out.Write([]byte(strings.Repeat("x", maxSaid/2)))
	}
	assert.LessOrEqual(t, len(out.line), maxSaid)
	for i := range 100 {
		fmt.Fprintf(out, "{\"event\":\"unit\",\"for\":\"A\",\"run\":\"%d\"}\na line\n", i)
	}
	assert.LessOrEqual(t, len(out.long.logged), maxRuns)
	fmt.Fprint(out, "airgap: error: no space\n{\"event\":\"unit\",\"for\":\"B\"}\n")
	out.flush()
	assert.EqualError(t, run.failure(1), "no space")
	for range 5 {
		_, _ = run.Write([]byte(strings.Repeat("y", maxSaid/2)))
	}
	assert.LessOrEqual(t, run.said.Len()+len(run.line), 2*maxSaid)
}

func TestLogIsCapped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	require.NoError(t, err)
	c := &capped{log: newLog(file)}
	c.used.Store(maxLogged - 10)
	for _, text := range []string{"the last\n", "too much\n", "more\n"} {
		_, err := c.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, c.log.Close())
	assert.Regexp(t, "^the last\n=== [^ ]+ more than 16 MiB of output; the rest is not in this log\n$", reads(t, path))
}

// TestAtRest: checks begin after a command that an earlier run left.
func TestAtRest(t *testing.T) {
	_, m, _, dir := far(t, farAirgap)
	require.NoError(t, os.WriteFile(dir+"/left", nil, 0o600))
	var said []string
	here, err := m.atRest(t.Context(), func(what string) { said = append(said, what) })
	require.NoError(t, err)
	assert.True(t, here.Joined)
	assert.Nil(t, here.Running)
	assert.Equal(t, "run-unit --wait\n", reads(t, dir+"/acks"))
	assert.Contains(t, reads(t, m.log.file.Name()), "waited\n")
	assert.Equal(t, []string{"airgap join, which an earlier run left"}, said)
}

// TestNoTokenForAJoinThatRuns: a token for a control-plane host removes members of etcd that do not answer. After a lost
// connection, the join that runs has its token.
func TestNoTokenForAJoinThatRuns(t *testing.T) {
	_, m, _, dir := far(t, farAirgap)
	require.NoError(t, os.WriteFile(dir+"/left", nil, 0o600))
	m.long = &longRun{args: []string{"join"}}
	here, err := m.beforeJoin(t.Context(), &displayed{})
	require.NoError(t, err)
	assert.NotNil(t, here.Running, "it did not wait")
	m.long = nil
	line := &displayed{}
	here, err = m.beforeJoin(t.Context(), line)
	require.NoError(t, err)
	assert.Nil(t, here.Running)
	assert.Equal(t, []string{"airgap join, which an earlier run left"}, line.all())
}

var _ ui.Host = (*displayed)(nil)
