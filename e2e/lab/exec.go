package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// environment is root's environment after a login on an EL server. The outer machine's
// environment has no influence.
var environment = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/bash", "LANG=C.UTF-8",
}

// Exec implements Machine.
func (c *Container) Exec(ctx context.Context, cmd Cmd) error {
	argv, err := c.argv(cmd)
	if err != nil {
		return err
	}
	tail := &tailWriter{max: 2 << 10}
	proc := exec.CommandContext(ctx, argv[0], argv[1:]...)
	proc.Stdin, proc.Stdout = cmd.Stdin, cmd.Stdout
	switch {
	case cmd.Stderr == nil:
		proc.Stderr = tail
	case isTerminal(cmd.Stderr): // the command itself must see that it is a terminal
		proc.Stderr = cmd.Stderr
	default:
		proc.Stderr = io.MultiWriter(cmd.Stderr, tail)
	}
	// nsenter forks to enter the PID namespace: a signal must go to both processes.
	proc.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	proc.Cancel = func() error {
		return syscall.Kill(-proc.Process.Pid, cmp.Or(cmd.Cancel, syscall.SIGKILL))
	}
	proc.WaitDelay = 10 * time.Second
	err = proc.Run()
	if ctx.Err() != nil && proc.Process != nil {
		_ = syscall.Kill(-proc.Process.Pid, syscall.SIGKILL) // processes that ignored Cancel
	}
	if errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		err = nil // it succeeded, and left a process behind that has the pipe open
	}
	return c.execError(ctx, cmd, err, tail)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// Shell runs a login shell of the machine on the terminal of this process.
func (c *Container) Shell() error {
	argv, err := c.argv(Cmd{Args: []string{"bash", "-l"}, Env: []string{"TERM=" + os.Getenv("TERM")}})
	if err != nil {
		return err
	}
	proc := exec.Command(argv[0], argv[1:]...)
	proc.Stdin, proc.Stdout, proc.Stderr = os.Stdin, os.Stdout, os.Stderr
	return proc.Run()
}

// argv is the command of the outer machine that runs cmd on this one. It enters the
// cgroup first, so that it ends with the machine, then the namespaces.
func (c *Container) argv(cmd Cmd) ([]string, error) {
	leader, err := c.leader()
	if err != nil {
		return nil, err
	}
	if leader == 0 {
		return nil, fmt.Errorf("exec on %s: the machine is off", c.name)
	}
	argv := []string{"nsenter", fmt.Sprintf("--target=%d", leader), "--all", "--"}
	return c.cgroup.visit(append(argv, cmd.argv()...)...)
}

// argv runs the command in its own environment and directory, independent of the caller's.
func (cmd Cmd) argv() []string {
	return slices.Concat([]string{"env", "-i", "-C", cmp.Or(cmd.Dir, "/root")}, environment, cmd.Env, cmd.Args)
}

func (c *Container) execError(ctx context.Context, cmd Cmd, err error, tail *tailWriter) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s on %s: %w", strings.Join(cmd.Args, " "), c.name, ctx.Err())
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return &ExitError{Machine: c.name, Args: cmd.Args, Code: code, Stderr: tail.String()}
}

// tailWriter keeps the last max bytes that are written to it.
type tailWriter struct {
	max int
	buf []byte
}

func (t *tailWriter) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

func (t *tailWriter) String() string { return string(bytes.TrimSpace(t.buf)) }
