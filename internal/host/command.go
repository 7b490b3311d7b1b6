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
// mode 0600; never in Args, which every user of the machine can read, nor in
// Env, which the command's own children inherit.
type Cmd struct {
	Name  string   // looked up in PATH unless it has a slash
	Args  []string // without the name
	Env   []string // KEY=VALUE, beside the few that every command gets
	Stdin io.Reader
	Log   string    // file that stdout and stderr are appended to as well; "" for none
	Out   io.Writer // copy of stdout and stderr as they come; nil for none
}

// CommandError says which command failed and what it said last.
type CommandError struct {
	Argv     []string
	ExitCode int    // -1 when it could not be started or was killed
	Tail     string // the last lines of stderr, else of stdout
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
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Name, c.Args...)
	cmd.Stdin = c.Stdin
	cmd.Env = environment(os.Environ(), c.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	copies, closeLog, err := c.copies()
	if err != nil {
		return nil, err
	}
	defer closeLog()
	cmd.Stdout = io.MultiWriter(append(copies, &stdout)...)
	cmd.Stderr = io.MultiWriter(append(copies, &stderr)...)
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), c.explain(ctx, err, &stdout, &stderr)
	}
	return stdout.Bytes(), nil
}

// copies are the extra writers that see both streams.
func (c Cmd) copies() ([]io.Writer, func(), error) {
	var ws []io.Writer
	if c.Out != nil {
		ws = append(ws, c.Out)
	}
	if c.Log == "" {
		return ws, func() {}, nil
	}
	f, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open command log: %w", err)
	}
	return append(ws, f), func() { f.Close() }, nil
}

func (c Cmd) explain(ctx context.Context, err error, stdout, stderr *bytes.Buffer) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	code := -1
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		code = exit.ExitCode()
	}
	text := stderr.String()
	if strings.TrimSpace(text) == "" {
		text = stdout.String()
	}
	return &CommandError{Argv: append([]string{c.Name}, c.Args...), ExitCode: code, Tail: tail(text), Log: c.Log, Err: err}
}

func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "\n")
}
