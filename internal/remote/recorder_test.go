package remote

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/remote/sshtest"
)

// TestRecorders: session recorders between airgap and the shell. A secret goes to none that would record it.
func TestRecorders(t *testing.T) {
	for name, tc := range map[string]struct {
		recorder sshtest.Recorder
		greeting string
		want     string // in the error; "" if commands run
	}{
		"a banner":       {sshtest.Recorder{}, "ATTENTION! Your session is being recorded!\n\n", ""},
		"a prompt":       {sshtest.Recorder{}, "[ops@node2 ~]$ ", ""},
		"CR":             {sshtest.Recorder{CR: true}, "This session is recorded.\n", ""},
		"echo":           {sshtest.Recorder{Echo: true}, "", "the session echoes its input, so that passwords"},
		"echo and CR":    {sshtest.Recorder{Echo: true, CR: true, Merge: true}, "Recording\n", "the session echoes its input"},
		"joined streams": {sshtest.Recorder{Merge: true}, "Recording\n", "the session has stderr on stdout"},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := connected(t)
			s.Sudo(t, "hunter2", false, true)
			s.Recorder, s.Greeting = tc.recorder, tc.greeting
			err := c.BecomeRoot(t.Context(), "hunter2")
			if tc.want != "" {
				no, is := errors.AsType[*RecorderError](err)
				if !is || !strings.Contains(err.Error(), tc.want) || !strings.Contains(no.Hint(), "tlog") || strings.Contains(err.Error(), "hunter") {
					t.Errorf("got %v\nhint: %s", err, hintOf(err))
				}
				if tried := s.SudoTried(); len(tried) != 0 {
					t.Errorf("sudo got %q", tried)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			if err := c.Run(t.Context(), Command{Args: []string{"sh", "-c", "cat; echo fault >&2"}, Stdin: strings.NewReader("input\n"), Stdout: &stdout, Stderr: &stderr}); err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(stdout.String(), "\r", ""); got != "input\n" {
				t.Errorf("stdout is %q", got)
			}
			if strings.Contains(stderr.String(), leaderMark) || !strings.Contains(stderr.String(), "fault") {
				t.Errorf("stderr is %q", stderr.String())
			}
		})
	}
}

// TestCommandsEndBehindCR: a command can be ended also if the recorder adds a CR to its process number.
func TestCommandsEndBehindCR(t *testing.T) {
	o := &opening{mark: leaderMark, before: &bytes.Buffer{}, after: &bytes.Buffer{}, begun: make(chan struct{})}
	if _, err := o.Write([]byte("Recording\r\n" + leaderMark + "4711\r\nrest")); err != nil || o.value != "4711" {
		t.Errorf("the process is %q, %v", o.value, err)
	}
}

// TestOutputBeginsWithOutput: the line with the mark alone is no output of the command.
func TestOutputBeginsWithOutput(t *testing.T) {
	begun := make(chan struct{})
	o := &opening{mark: outputMark, before: &bytes.Buffer{}, after: &signal{c: begun}, begun: make(chan struct{})}
	for _, step := range []struct {
		text  string
		heard bool
	}{{"Welcome\n" + outputMark + "\n", false}, {"first", true}} {
		if _, err := o.Write([]byte(step.text)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-begun:
			if !step.heard {
				t.Errorf("%q counts as output", step.text)
			}
		default:
			if step.heard {
				t.Errorf("%q is not passed on", step.text)
			}
		}
	}
}

// TestTerminalRequired: a login shell that runs nothing without a terminal is named, with the way out.
func TestTerminalRequired(t *testing.T) {
	for _, said := range []string{"stdin is not a tty", "PSPSD072E: a terminal is required for this session"} {
		c, s := connected(t)
		s.Program(t, "shell", "echo "+quote(said)+" >&2; exit 1")
		s.Shell = s.Path("shell")
		err := c.BecomeRoot(t.Context(), "")
		if _, is := errors.AsType[*RecorderError](err); !is || !strings.Contains(err.Error(), "the session requires a terminal") {
			t.Errorf("%s: got %v", said, err)
		}
	}
}
