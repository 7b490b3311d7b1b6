package detach

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/host"
)

// wire is a stream of a connection. It ends after a text, as a lost connection does.
type wire struct {
	mu   sync.Mutex
	text bytes.Buffer
	ends string // "": never
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if w.ends != "" && strings.Contains(w.text.String(), w.ends) {
		return 0, syscall.EPIPE
	}
	return len(p), nil
}

func (w *wire) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// session is a connection of airgap on another host, with its order.
type session struct {
	*unattended

	out, err *wire
}

func (l *lab) session(run, stdin string) *session {
	s := &session{out: &wire{}, err: &wire{}}
	r := *l.runner
	r.dir, r.streams = "/", Streams{strings.NewReader(stdin), s.out, s.err}
	s.unattended = &unattended{runner: &r, order: Order{run, len(stdin)}}
	return s
}

// gets runs the command and requires its exit code.
func (s *session) gets(t *testing.T, c Command, code int) {
	t.Helper()
	done, err := s.runOrder(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, Outcome{Ran: true, Code: code}, done)
}

// notices returns the notices of standard error, and its other text.
func (s *session) notices() (all []Notice, rest string) {
	for line := range strings.Lines(s.err.String()) {
		if n, is := ParseNotice([]byte(line), s.order.Run); is {
			all = append(all, n)
		} else {
			rest += line
		}
	}
	return all, rest
}

// awaitsGo is the command of most tests: it waits for the file go in the directory.
func (l *lab) awaitsGo(t *testing.T, end string) Command {
	t.Setenv("LAB", l.dir)
	return script(`echo x >>$LAB/runs; echo begun >&2; while [ ! -e $LAB/go ]; do sleep 0.02; done; echo done >&2; echo '{"changed":3}'; ` + end)
}

func (l *lab) goes(t *testing.T) { require.NoError(t, os.WriteFile(l.dir+"/go", nil, 0o600)) }

func (l *lab) runs1(t *testing.T) string {
	data, err := os.ReadFile(l.dir + "/runs")
	require.NoError(t, err)
	return string(data)
}

// TestOrderedRun: streams, directory, environment, input and exit code are those of the command. The result stays until
// the client has it.
func TestOrderedRun(t *testing.T) {
	l := newLab(t)
	t.Setenv(OrderVariable, "1:6")
	s := l.session("1", "s3cret\n")
	s.gets(t, script(`read -r token; pwd; test ! -t 0 && test ! -t 2 && echo "$AIRGAP_RUN ${#token} ${AIRGAP_OPERATOR+operator} $(cat)"; echo progress >&2; exit 7`), 7)
	assert.Equal(t, "/\n 6 operator \n", s.out.String())
	notices, rest := s.notices()
	assert.Equal(t, "progress\n", rest)
	require.Len(t, notices, 1)
	assert.Equal(t, Notice{"unit", "1", "1", "install", "airgap-run-install", notices[0].Since, 0, false}, notices[0])
	assert.NotContains(t, strings.Join(l.Calls, "\n"), "s3cret")
	assert.Empty(t, l.Holding(t, "s3cret"))
	require.NoError(t, seen(l.machine, "install", "2"), "not the run")
	assert.True(t, l.Has("run/airgap-run/install.sock"))
	require.NoError(t, seen(l.machine, "install", "1"))
	l.isGone(t)
	require.NoError(t, seen(l.machine, "install", "1"), "it has ended")
}

// TestConnectionIsLost: the command goes on. The next client of the run gets all of the output, and the command runs once.
func TestConnectionIsLost(t *testing.T) {
	for name, next := range map[string]string{"the same client": "1", "another client": "2"} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			c := l.awaitsGo(t, "exit 3")
			lost := l.session("1", "")
			lost.err.ends = "begun"
			done, err := lost.runOrder(t.Context(), c)
			require.NoError(t, err)
			assert.Equal(t, Outcome{Ran: true, Code: killed}, done)
			assert.Equal(t, &Left{"install", LeftHere(l.machine).Since}, LeftHere(l.machine))
			go func() { time.Sleep(50 * time.Millisecond); l.goes(t) }()
			s := l.session(next, "")
			s.gets(t, c, 3)
			notices, rest := s.notices()
			assert.Equal(t, "begun\ndone\n", rest)
			assert.Equal(t, "{\"changed\":3}\n", s.out.String())
			assert.Equal(t, "1", notices[0].Run)
			assert.Equal(t, "x\n", l.runs1(t))
			assert.Nil(t, LeftHere(l.machine))
			require.NoError(t, seen(l.machine, "install", "1"))
			l.isGone(t)
		})
	}
}

// TestResultThatNobodyFetched: the same client gets each, another one a success. Of a failure it gets the messages before
// its own run.
func TestResultThatNobodyFetched(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		run  string
		runs string
		text string
	}{
		"the same client":            {4, "1", "x\n", "begun\ndone\n"},
		"another client, a success":  {0, "2", "x\n", "begun\ndone\n"},
		"another client, a failure":  {4, "2", "x\nx\n", "begun\ndone\nbegun\ndone\n"},
		"another client, cancelled ": {130, "2", "x\nx\n", "begun\ndone\nbegun\ndone\n"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.goes(t)
			command := l.awaitsGo(t, "exit "+map[int]string{4: "4", 130: "130"}[c.code])
			lost := l.session("1", "")
			lost.err.ends = "begun"
			_, err := lost.runOrder(t.Context(), command)
			require.NoError(t, err)
			l.ends(t)
			s := l.session(c.run, "")
			s.gets(t, command, c.code)
			notices, rest := s.notices()
			assert.Equal(t, c.text, rest)
			assert.Equal(t, c.runs, l.runs1(t))
			assert.Equal(t, "{\"changed\":3}\n", s.out.String(), "only one result")
			assert.Equal(t, len(c.runs) > 2, notices[0].Other)
			require.NoError(t, seen(l.machine, "install", notices[len(notices)-1].Run))
			l.isGone(t)
		})
	}
}

// TestReplaces: an old result, or one of another command, is none.
func TestReplaces(t *testing.T) {
	u := &unattended{order: Order{Run: "2"}}
	c := Command{"join", []string{"join", "--node", "w1"}}
	good := state{Name: "join", Args: c.Args, Run: "1", Ended: time.Now()}
	assert.True(t, u.replaces(good, c))
	for name, spoil := range map[string]func(*state){
		"old":           func(s *state) { s.Ended = s.Ended.Add(-time.Hour) },
		"failed":        func(s *state) { s.Code = 1 },
		"arguments":     func(s *state) { s.Args = []string{"join"} },
		"at a terminal": func(s *state) { s.Run = "" },
	} {
		s := good
		spoil(&s)
		assert.False(t, u.replaces(s, c), name)
	}
}

// TestOtherCommandOfAnEarlierClient: it is shown to its end, and removed.
func TestOtherCommandOfAnEarlierClient(t *testing.T) {
	l := newLab(t)
	c := l.awaitsGo(t, "exit 5")
	lost := l.session("1", "")
	lost.err.ends = "begun"
	_, err := lost.runOrder(t.Context(), c)
	require.NoError(t, err)
	go func() { time.Sleep(50 * time.Millisecond); l.goes(t) }()
	s := l.session("2", "")
	s.gets(t, Command{"upgrade", []string{"-c", "echo own >&2; echo result"}}, 0)
	notices, rest := s.notices()
	assert.Equal(t, "begun\ndone\nown\n", rest)
	assert.Equal(t, "result\n", s.out.String())
	require.Len(t, notices, 2)
	assert.True(t, notices[0].Other)
	assert.Contains(t, l.saidAll(), "ended with exit code 5.")
	require.NoError(t, seen(l.machine, "upgrade", "2"))
	l.isGone(t)
}

// TestCommandAtATerminal: a user of this host decides about it.
func TestCommandAtATerminal(t *testing.T) {
	l := newLab(t)
	l.leaves(t, script(`echo begun; while [ ! -e go ]; do sleep 0.05; done; exit 5`), "begun")
	s := l.session("1", "")
	_, err := s.runOrder(t.Context(), Command{"upgrade", []string{"-c", "true"}})
	require.ErrorContains(t, err, "another airgap command is changing this host: airgap -c 'echo begun;")
	assert.Nil(t, LeftHere(l.machine))
	l.goes(t)
	l.ends(t)
	s.gets(t, Command{"upgrade", []string{"-c", "true"}}, 0)
	assert.Contains(t, l.saidAll(), "with exit code 5.")
	Sweep(l.machine)
	l.isGone(t)
}

// TestSignalsOfAClient: SIGINT cancels the command. Signals of a lost connection leave it.
func TestSignalsOfAClient(t *testing.T) {
	for signal, cancels := range map[syscall.Signal]bool{syscall.SIGINT: true, syscall.SIGHUP: false, syscall.SIGTERM: false} {
		l := newLab(t)
		t.Setenv("LAB", l.dir)
		c := script(`trap 'echo cancelled >&2; exit 130' INT; echo begun >&2; while [ ! -e $LAB/go ]; do sleep 0.02; done`)
		s := l.session("1", "")
		go func() {
			for !strings.Contains(s.err.String(), "begun") {
				time.Sleep(10 * time.Millisecond)
			}
			_ = syscall.Kill(os.Getpid(), signal)
		}()
		if cancels {
			s.gets(t, c, 130)
			assert.Contains(t, s.err.String(), "cancelled")
			l.isGone(t)
			continue
		}
		_, err := s.runOrder(t.Context(), c)
		require.ErrorContains(t, err, "the command goes on in unit airgap-run-install")
		assert.NotNil(t, LeftHere(l.machine))
		l.goes(t)
		l.session("1", "").gets(t, c, 0)
	}
}

// TestEarlyCtrlC: it may come before the command starts.
func TestEarlyCtrlC(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.session("1", "").runOrder(ctx, script("true"))
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, l.Calls)

	start := l.Answers["systemd-run"]
	l.Answers["systemd-run"] = func(c host.Cmd) ([]byte, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		return start(c)
	}
	s := l.session("1", "")
	s.gets(t, script(`while :; do sleep 0.02; done`), 130)
	l.isGone(t)
}

// TestInputIsCutOff: the command does not start with a part of a token.
func TestInputIsCutOff(t *testing.T) {
	l := newLab(t)
	l.Answers["systemctl stop"] = func(host.Cmd) ([]byte, error) { l.stop(); return nil, nil }
	s := l.session("1", "tok")
	s.order.Input = 6
	_, err := s.runOrder(t.Context(), script("echo >&2 started"))
	require.ErrorContains(t, err, "read standard input: 3 of 6 bytes: unexpected EOF")
	l.isGone(t)
	assert.Equal(t, 1, l.Ran("systemctl stop airgap-run-install.service"))
	assert.Empty(t, s.err.String())
}

// TestNoUnitThere: the command runs in the session, with its input.
func TestNoUnitThere(t *testing.T) {
	for want, spoil := range map[string]func(l *lab){
		"Access denied":                          func(l *lab) { l.Fails("systemd-run", 1, "Access denied") },
		"process 1 is sh, not systemd":           func(l *lab) { l.Put(t, "proc/1/comm", "sh\n") },
		"/proc/self/ns/net differs from that of": func(l *lab) { relink(t, l, "ns/net") },
	} {
		l := newLab(t)
		l.Put(t, "proc/self/cgroup", "0::/\n") // of no session
		spoil(l)
		s := l.session("1", "token")
		done, err := s.runOrder(t.Context(), script("true"))
		require.NoError(t, err)
		assert.False(t, done.Ran)
		assert.Contains(t, done.Note, "the command ends with this login session: start ")
		assert.Contains(t, done.Note, want)
		assert.Equal(t, 5, s.streams.In.(*strings.Reader).Len())
	}
}

// TestLargeOutput: a result and messages without end take no memory without end, and the notice says which part is gone.
func TestLargeOutput(t *testing.T) {
	l := newLab(t)
	c := script(`head -c 9000000 /dev/zero | tr '\0' x; i=0; while [ $i -lt 30 ]; do head -c 99999 /dev/zero | tr '\0' y >&2; echo >&2; i=$((i+1)); done`)
	lost := l.session("1", "")
	lost.out.ends = "x"
	_, err := lost.runOrder(t.Context(), c)
	require.NoError(t, err)
	l.ends(t)
	s := l.session("1", "")
	s.gets(t, c, 0)
	notices, rest := s.notices()
	assert.Len(t, s.out.String(), maxResult)
	assert.Equal(t, int64(30*100_000), notices[0].From+int64(len(rest)))
	assert.Less(t, len(rest), 2*maxHistory+1)
	assert.Zero(t, len(rest)%100_000)
}

// TestLeftovers: results are removed, and sockets of killed units. Await waits for a command that runs.
func TestLeftovers(t *testing.T) {
	l := newLab(t)
	c := l.awaitsGo(t, "exit 5")
	lost := l.session("1", "")
	lost.err.ends = "begun"
	_, err := lost.runOrder(t.Context(), c)
	require.NoError(t, err)
	for _, name := range []string{"old", "new"} {
		l.Put(t, "run/airgap-run/"+name+".sock", "")
	}
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(l.machine.Path(runDir+"/old.sock"), old, old))
	Sweep(l.machine)
	assert.False(t, l.Has("run/airgap-run/old.sock"))
	assert.True(t, l.Has("run/airgap-run/new.sock"), "it may not listen yet")
	assert.NotNil(t, LeftHere(l.machine), "it runs")
	require.NoError(t, os.Remove(l.machine.Path(runDir+"/new.sock")))
	go func() { time.Sleep(50 * time.Millisecond); l.goes(t) }()
	require.NoError(t, await(t.Context(), l.machine))
	assert.Nil(t, LeftHere(l.machine))
	assert.True(t, l.Has("run/airgap-run/install.sock"), "the result")
	Sweep(l.machine)
	l.isGone(t)
}

func TestOrder(t *testing.T) {
	want := Order{"4f2a", 77}
	value, found := strings.CutPrefix(want.Variable(), OrderVariable+"=")
	require.True(t, found)
	got, err := parseOrder(value)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	for _, odd := range []string{"", "1", ":3", "1:", "1:x", "1:-1", "1:99999", "1:2:3"} {
		_, err := parseOrder(odd)
		require.ErrorContains(t, err, "expected RUN:BYTES", odd)
	}
}

// TestForgedNotice: text of a command cannot pass for a notice.
func TestForgedNotice(t *testing.T) {
	line, err := json.Marshal(Notice{Event: noticeEvent, For: "guess", From: 1})
	require.NoError(t, err)
	_, is := ParseNotice(line, "4f2a")
	assert.False(t, is)
	_, is = ParseNotice([]byte(`{"event":"unit","for":"4f2a","from":-1}`), "4f2a")
	assert.False(t, is)
	_, is = ParseNotice([]byte("text"), "4f2a")
	assert.False(t, is)
}
