package remote

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/remote/sshtest"
)

// TestLoginShells runs commands of users with other login shells than sh, and with files like .bashrc that print text.
func TestLoginShells(t *testing.T) {
	args := []string{"it's", `a\b`, `\`, "", "!x", "two\nlines", "$HOME `id` $(id)", strings.Repeat("x", 4000), "a=b;c&d|e>f"}
	for _, shell := range []string{"", "dash", "bash", "zsh", "fish", "tcsh", sshtest.Csh} {
		for name, greeting := range map[string]string{
			"quiet": "", "lines": "Welcome\nto node2\n", "no newline": "Authorised users only", "like a mark": "airgap-out airgap-output airgap-pro",
		} {
			t.Run(shell+" "+name, func(t *testing.T) {
				if path, err := exec.LookPath(shell); shell != "" && shell != sshtest.Csh && err != nil {
					t.Skip(shell, "is not on this machine", path)
				}
				c, s := connected(t)
				s.Sudo(t, "hunter2", false, true)
				s.Shell, s.Greeting = shell, greeting
				if err := c.BecomeRoot(t.Context(), "hunter2"); err != nil {
					t.Fatal(err)
				}
				var stdout, stderr bytes.Buffer
				err := c.Run(t.Context(), Command{
					Args:  append([]string{"sh", "-c", "printf '%s|' \"$@\"; cat; echo fault >&2; exit 3", "sh"}, args...),
					Stdin: strings.NewReader("input"), Stdout: &stdout, Stderr: &stderr,
				})
				if exit, is := errors.AsType[*ExitError](err); !is || exit.Code != 3 {
					t.Errorf("got %v, want exit status 3", err)
				}
				if want := strings.Join(args, "|") + "|input"; stdout.String() != want {
					t.Errorf("stdout is %q, want %q", stdout.String(), want)
				}
				if !strings.HasSuffix(stderr.String(), "fault\n") || !strings.HasPrefix(stderr.String(), greeting) || strings.Contains(stderr.String(), leaderMark) {
					t.Errorf("stderr is %q", stderr.String())
				}
			})
		}
	}
}

// TestLoginShellRefuses: the error of a shell that runs nothing is not one of sudo.
func TestLoginShellRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ script, want string }{
		"nologin":    {"echo This account is currently not available.; exit 1", "(exit status 1): This account is currently not available."},
		"a menu":     {"echo '1) Backup 2) Exit'", "(exit status 0): 1) Backup 2) Exit"},
		"no /bin/sh": {"echo permission denied >&2; exit 126", "(exit status 126): permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := connected(t)
			s.Program(t, "shell", tc.script)
			s.Shell = s.Path("shell")
			err := c.BecomeRoot(t.Context(), "")
			no, is := errors.AsType[*ShellError](err)
			if !is || !strings.Contains(err.Error(), tc.want) || !strings.Contains(no.Hint(), "usermod --shell") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestOneSessionPerConnection: sshd with "MaxSessions 1" refuses a second session while a command runs.
func TestOneSessionPerConnection(t *testing.T) {
	c, s := connected(t)
	s.MaxSessions = 1
	mark := filepath.Join(t.TempDir(), "ended")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, Command{
			Args:   []string{"sh", "-c", `trap 'echo bye >"$0"; exit 130' TERM; echo begun; while :; do sleep 0.05; done`, mark},
			Stdout: &signal{c: begun},
		})
	}()
	<-begun
	var out bytes.Buffer
	if err := c.Run(t.Context(), Command{Args: []string{"echo", "second"}, Stdout: &out}); err != nil || out.String() != "second\n" {
		t.Errorf("the second command: %q, %v", out.String(), err)
	}
	cancel() // the signal needs a session, too
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the first command: %v", err)
	}
	if got := string(readFile(t, mark)); got != "bye\n" {
		t.Errorf("the first command wrote %q", got)
	}
}

// TestNoSession: a host that refuses every session gives an error with a next step, not a lost connection.
func TestNoSession(t *testing.T) {
	c, s := connected(t)
	s.MaxSessions = -1
	err := c.Run(t.Context(), Command{Args: []string{"true"}})
	if no, is := errors.AsType[*SessionError](err); !is || !strings.Contains(no.Hint(), "MaxSessions") || errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
}

// TestEnvironmentOfCommands: the language of the user on the host does not reach commands. Programs in Python read LANGUAGE
// before LC_ALL, and sudo keeps it on Enterprise Linux.
func TestEnvironmentOfCommands(t *testing.T) {
	for name, value := range map[string]string{"LANG": "ko_KR.UTF-8", "LC_ALL": "ko_KR.UTF-8", "LANGUAGE": "ko_KR:ko"} {
		t.Setenv(name, value)
	}
	c, s := connected(t)
	s.Sudo(t, "hunter2", false, true)
	if err := c.BecomeRoot(t.Context(), "hunter2"); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	if err := c.Run(t.Context(), Command{Args: []string{"sh", "-c", "echo $LC_ALL:$LANGUAGE:"}, Stdout: &stdout}); err != nil || stdout.String() != "C::\n" {
		t.Errorf("the language is %q, %v", stdout.String(), err)
	}
}
