package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// sudo is how a user becomes root: its zero value is for root.
type sudo struct {
	wanted   bool
	password string // "" where none is asked for
}

// line is the command line that the host's shell gets. With a password, sudo
// gets -k, so that it always reads the line, and the password never reaches the
// command.
func (s sudo) line(args []string) string {
	switch {
	case !s.wanted:
		return remoteLine("", args)
	case s.password == "":
		return remoteLine("LC_ALL=C sudo -n -- ", args)
	}
	return remoteLine("LC_ALL=C sudo -k -S -p '' -- ", args)
}

func (s sudo) stdin(rest io.Reader) io.Reader {
	if rest == nil {
		rest = strings.NewReader("")
	}
	if !s.wanted || s.password == "" {
		return rest
	}
	return io.MultiReader(strings.NewReader(s.password+"\n"), rest)
}

// SudoError says that the user cannot become root.
type SudoError struct {
	Host    Host
	Wanted  bool   // it asks for a password, and none was given
	Refused bool   // the password was refused
	Said    string // by sudo
}

func (e *SudoError) Error() string {
	switch {
	case e.Wanted:
		return fmt.Sprintf("become root on %s: sudo asks for a password", e.Host)
	case e.Refused:
		return fmt.Sprintf("become root on %s: sudo refused the password", e.Host)
	}
	return fmt.Sprintf("become root on %s: sudo refused: %s", e.Host, lastLine(e.Said))
}

// Hint returns the next step.
func (e *SudoError) Hint() string {
	rule := fmt.Sprintf("%s ALL=(ALL) ALL", e.Host.User)
	switch {
	case e.Wanted:
		return "run airgap on a terminal and enter the password, or allow sudo without one: " + fmt.Sprintf("%s ALL=(ALL) NOPASSWD: ALL", e.Host.User) + " in /etc/sudoers.d/airgap on " + e.Host.Name
	case strings.Contains(e.Said, "tty"):
		return "Defaults:" + e.Host.User + " !requiretty in /etc/sudoers.d/airgap on " + e.Host.Name
	}
	return rule + " in /etc/sudoers.d/airgap on " + e.Host.Name + " (visudo -f), or another ssh.user in airgap.yaml"
}

// BecomeRoot finds out how commands run as root on the host, and stores it. An
// error that the user can fix is a SudoError.
func (c *Client) BecomeRoot(ctx context.Context, password string) error {
	if isRoot, _, err := c.whoami(ctx, sudo{}); isRoot || err != nil {
		return err
	}
	as := sudo{wanted: true}
	isRoot, said, err := c.whoami(ctx, as)
	if err != nil {
		return err
	}
	if !isRoot && !strings.Contains(said, "password is required") {
		return &SudoError{Host: c.Host, Said: said}
	}
	if !isRoot && password == "" {
		return &SudoError{Host: c.Host, Wanted: true}
	}
	if !isRoot {
		as.password = password
		isRoot, said, err = c.whoami(ctx, as)
	}
	if err != nil {
		return err
	}
	if !isRoot {
		return &SudoError{Host: c.Host, Refused: wrongPassword(said), Said: said}
	}
	c.sudo = as
	return nil
}

func wrongPassword(said string) bool {
	return strings.Contains(said, "incorrect password") || strings.Contains(said, "no password was provided") || strings.Contains(said, "Sorry, try again")
}

// whoami runs id, and returns the output if it is not root's number.
func (c *Client) whoami(ctx context.Context, as sudo) (isRoot bool, said string, err error) {
	var out bytes.Buffer
	err = c.run(ctx, as, Command{Args: []string{"id", "-u"}, Stdout: &out})
	if exit, is := errors.AsType[*ExitError](err); is {
		return false, exit.Tail, nil
	}
	return strings.HasSuffix("\n"+strings.TrimSpace(out.String()), "\n0"), "", err
}
