package remote

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Session recorders of banks (tlog, PSM for SSH and others) stand between sshd and the login shell, or between airgap and
// the host. Text that one prints before a command is no problem, nor is a CR at the end of a line. One that echoes the
// input would show secrets on the screen and in its recording, and one that joins stderr and stdout would mix messages
// into results: airgap finds that out with its first command, id -u, before it sends a secret.

// recorded looks at the beginning of both streams of a session.
type recorded struct {
	stdout, stderr bytes.Buffer
}

const (
	maxSeen   = 16 << 10 // more than the texts before a command, and the script
	afterMark = 256      // the mark of the other stream follows within these bytes
)

// firstBytes keeps the beginning of a stream, until the mark.
type firstBytes struct {
	buf    *bytes.Buffer // not embedded: its WriteString has no limit
	max    int
	marked bool
}

func (f *firstBytes) Write(p []byte) (int, error) {
	_, _ = f.buf.Write(p[:min(len(p), max(0, f.max-f.buf.Len()))])
	if !f.marked && (bytes.Contains(f.buf.Bytes(), []byte(outputMark)) || bytes.Contains(f.buf.Bytes(), []byte(leaderMark))) {
		f.marked, f.max = true, f.buf.Len()+afterMark
	}
	return len(p), nil
}

func (*recorded) on(stream *bytes.Buffer) io.Writer { return &firstBytes{buf: stream, max: maxSeen} }

// scriptHead is the beginning of the script that goes through stdin.
const scriptHead = `n=$(printf`

const (
	echoes  = "the session echoes its input, so that passwords and join tokens would be in the recording and in the output"
	merges  = "the session has stderr on stdout, so that messages and results cannot be told apart"
	wantTTY = "the session requires a terminal, and airgap runs commands without one"
)

// problem says why commands cannot run in this session; "" if they can.
func (r *recorded) problem(as sudo) string {
	before, _, began := strings.Cut(r.stdout.String(), outputMark)
	said, _, apart := strings.Cut(r.stderr.String(), leaderMark)
	switch {
	case strings.Contains(before, scriptHead), strings.Contains(said, scriptHead):
		return echoes
	case strings.Contains(r.stdout.String(), leaderMark) && !apart:
		return merges
	case !as.wanted && !began && needsTTY(before+said) && demandOf(before+said) != newSecret:
		return wantTTY
	}
	return ""
}

// needsTTY reports whether a session ended because it has no terminal.
func needsTTY(said string) bool {
	said = strings.ToLower(lastLines(said, 3))
	for _, text := range []string{"not a tty", "no tty", "requires a tty", "must be a tty", "a terminal is required", "not a terminal", "requires a terminal", "pseudo-terminal", "no pty", "requires a pty"} {
		if strings.Contains(said, text) {
			return true
		}
	}
	return false
}

// RecorderError says that the session of a host, probably a session recorder, is not one that can run commands.
type RecorderError struct {
	Host Host

	why string
}

func (e *RecorderError) Error() string {
	return fmt.Sprintf("run commands on %s: %s", e.Host, e.why)
}

// Hint returns the next step.
func (e *RecorderError) Hint() string {
	return "a session recorder (tlog, PSM for SSH) probably stands in front of the shell of " + e.Host.User + ": exempt this user from it for sessions without a terminal, or give it /bin/bash as login shell; " +
		"then make this print only 0 or a number: ssh " + e.Host.User + "@" + e.Host.Address + " id -u"
}
