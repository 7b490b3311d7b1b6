package passwords

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/remote"
)

// command is ssh.passwordCommand.
type command struct {
	argv  []string
	limit time.Duration
}

const (
	commandLimit = 30 * time.Second // for one password; a vault on the network answers within seconds
	maxOutput    = 4 << 10
	maxSaid      = 300 // bytes of a line of stderr
)

func (c *command) String() string { return "the command " + c.argv[0] }

// checkCommand refuses a program that other users could replace: root runs it.
func checkCommand(argv []string) (*command, error) {
	info, err := os.Stat(argv[0])
	if err != nil {
		return nil, fmt.Errorf("find ssh.passwordCommand: %w", err)
	}
	program, err := filepath.EvalSymlinks(argv[0])
	if err != nil {
		return nil, fmt.Errorf("find ssh.passwordCommand: %w", err)
	}
	if dir := replaceable(program); dir != "" {
		return nil, advice.Add(fmt.Errorf("check ssh.passwordCommand %s: other users can change the directory %s", argv[0], dir),
			"put the program into a directory of root, such as /usr/local/sbin; nothing was started")
	}
	mode := info.Mode()
	owner, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case !mode.IsRegular() || mode.Perm()&0o111 == 0:
		err = fmt.Errorf("mode is %v: want an executable file", mode)
	case mode.Perm()&0o022 != 0:
		err = fmt.Errorf("mode is %#o, so other users can change it: want 0755 or 0700", mode.Perm())
	case owner != nil && owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		err = fmt.Errorf("it belongs to user %d: want root", owner.Uid)
	}
	if err != nil {
		return nil, advice.Add(fmt.Errorf("check ssh.passwordCommand %s: %w", argv[0], err), "give %s to root, with mode 0755; nothing was started", argv[0])
	}
	return &command{argv: append([]string{program}, argv[1:]...), limit: commandLimit}, nil
}

// replaceable returns the first directory above a program in which other users could replace it; "" if there is none. In
// a directory with the sticky bit only the owner of a file can.
func replaceable(program string) string {
	for dir := filepath.Dir(program); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return dir
		}
		owner, _ := info.Sys().(*syscall.Stat_t)
		foreign := owner != nil && owner.Uid != 0 && int(owner.Uid) != os.Geteuid()
		if foreign || info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// For runs the command. No output means that it has no password for this use.
func (c *command) For(ctx context.Context, h remote.Host, kind Kind) (Password, error) {
	out := &limited{max: maxOutput}
	limit, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	_, err := host.Local{}.Run(limit, host.Cmd{
		Name: c.argv[0], Args: c.argv[1:], Stdout: out,
		Env: []string{"AIRGAP_HOST=" + h.Name, "AIRGAP_ADDRESS=" + h.Address, "AIRGAP_USER=" + h.User, "AIRGAP_FOR=" + string(kind)},
	})
	text := strings.TrimRight(out.String(), "\r\n")
	switch {
	case ctx.Err() != nil:
		return Password{}, ctx.Err()
	case limit.Err() != nil:
		err = fmt.Errorf("it did not end within %s", c.limit)
	case out.over:
		err = fmt.Errorf("it printed more than %d bytes: want one line with the password", maxOutput)
	case err != nil:
		err = c.explain(err, text)
	case strings.Contains(text, "\n"):
		err = fmt.Errorf("it printed %d lines: want one line with the password", strings.Count(text, "\n")+1)
	default:
		err = problem(text)
	}
	if err != nil {
		return Password{}, advice.Add(fmt.Errorf("run ssh.passwordCommand %s for %s (%s): %w", c.argv[0], h.Name, kind, err),
			"run it yourself: AIRGAP_HOST=%s AIRGAP_ADDRESS=%s AIRGAP_USER=%s AIRGAP_FOR=%s %s", h.Name, h.Address, h.User, kind, c.argv[0])
	}
	return Password{Text: text, From: c.String()}, nil
}

// explain keeps the last line of stderr, unless it repeats the output, which is a secret.
func (c *command) explain(err error, output string) error {
	failed, is := errors.AsType[*host.CommandError](err)
	if !is {
		return err
	}
	lines := strings.Split(failed.Tail, "\n")
	said := lines[len(lines)-1]
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && strings.Contains(failed.Tail, line) {
			said = "its stderr repeats the password"
		}
	}
	if said == "" || len(said) > maxSaid {
		return failed.Err
	}
	return fmt.Errorf("%w: %s", failed.Err, said)
}

// limited keeps the first max bytes and refuses more, which ends the command.
type limited struct {
	text bytes.Buffer // not embedded: its ReadFrom has no limit
	max  int
	over bool
}

func (l *limited) String() string { return l.text.String() }

func (l *limited) Write(p []byte) (int, error) {
	if l.text.Len()+len(p) > l.max {
		l.over = true
		return 0, io.ErrShortBuffer
	}
	return l.text.Write(p)
}
