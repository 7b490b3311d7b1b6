package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Cmd is one command. Secrets belong in Stdin, see InMemory, or in a file of
// mode 0600; never in Args, which every user of the machine can read, and not
// in Env, which the children of the command inherit.
type Cmd struct {
	Name  string   // looked up in PATH unless it has a slash; cmd/airgap puts the directories of packages first
	Args  []string // without the name
	Env   []string // KEY=VALUE, in addition to the few that every command gets
	Stdin io.Reader
	// Stdout gets the output while the command runs, and the caller gets none of it.
	// With nil the caller gets all output at the end. Set it for output larger than memory.
	Stdout io.Writer
	// Log is a file that stdout and stderr are appended to, and nowhere else;
	// "" gives stdout to the caller. With a log the command completes
	// even if this program is killed: a pipe without a reader would kill it at its next
	// line, for example dnf in the middle of a transaction.
	Log string
}

// CommandError has the failed command and its last output.
type CommandError struct {
	Argv     []string
	ExitCode int    // -1 when it could not be started or was killed
	Tail     string // the last lines of stderr, else of stdout; of both with a log
	Log      string // path of the whole output, or ""
	Err      error
}

func (e *CommandError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s: %v", strings.Join(e.Argv, " "), e.Err)
	if e.Tail != "" {
		fmt.Fprintf(&b, ": %s", e.Tail)
	}
	if e.Log != "" {
		fmt.Fprintf(&b, " (whole output: %s)", e.Log)
	}
	return b.String()
}

func (e *CommandError) Unwrap() error { return e.Err }

const tailLines = 12

// run ends the command's whole process group when ctx ends: first SIGTERM,
// SIGKILL 10 s later.
func (c Cmd) run(ctx context.Context) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.Name, c.Args...)
	cmd.Stdin = c.Stdin
	cmd.Env = environment(os.Environ(), c.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if c.Log != "" {
		return nil, c.runLogged(ctx, cmd)
	}
	var stdout bytes.Buffer
	stderr := &ending{}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		// The command succeeded, and its output was read. Another process holds its end of the
		// pipe: a process that it left behind, or another child of ours between fork and exec.
		err = nil
	}
	if err != nil {
		said := stderr.String()
		if strings.TrimSpace(said) == "" {
			said = stdout.String()
		}
		return stdout.Bytes(), c.explain(ctx, err, said)
	}
	return stdout.Bytes(), nil
}

// maxStderr is more than the lines of an error take.
const maxStderr = 64 << 10

// ending keeps the end of the written data.
type ending struct{ text []byte }

func (e *ending) Write(p []byte) (int, error) {
	e.text = append(e.text, p...)
	if over := len(e.text) - maxStderr; over > 0 {
		e.text = append(e.text[:0], e.text[over:]...)
	}
	return len(p), nil
}

func (e *ending) String() string { return string(e.text) }

func (c Cmd) runLogged(ctx context.Context, cmd *exec.Cmd) error {
	f, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open command log: %w", err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open command log: %w", err)
	}
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Run(); err != nil {
		return c.explain(ctx, err, lastSaid(f, before.Size()))
	}
	return nil
}

// lastSaid returns the end of the text that was added to a log after its first size bytes.
func lastSaid(f *os.File, size int64) string {
	const enough = 16 << 10
	if now, err := f.Stat(); err == nil {
		size = max(size, now.Size()-enough)
	}
	said, _ := io.ReadAll(io.NewSectionReader(f, size, enough)) // a partial text is better than none
	return string(said)
}

func (c Cmd) explain(ctx context.Context, err error, said string) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	code := -1
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		code = exit.ExitCode()
	}
	return &CommandError{Argv: append([]string{c.Name}, c.Args...), ExitCode: code, Tail: tail(said), Log: c.Log, Err: err}
}

func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "\n")
}
