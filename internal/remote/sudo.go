package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/ssh"
)

// sudo is how a user becomes root: its zero value is for root.
type sudo struct {
	wanted   bool
	password string // "" where none is asked for
}

// prefix becomes root in front of a command. With a password, sudo gets -k, so that it always reads the line, and the
// password never reaches the command.
func (s sudo) prefix() string {
	switch {
	case !s.wanted:
		return ""
	case s.password == "":
		return "sudo -n -- "
	}
	return "sudo -k -S -p '' -- "
}

// stdin is the script for the login shell, the password for sudo, and then the command's own input.
func (s sudo) stdin(cmd Command) io.Reader {
	first := script(s.prefix(), cmd.Args) + "\n"
	if s.wanted && s.password != "" {
		first += s.password + "\n"
	}
	if cmd.Stdin == nil {
		return strings.NewReader(first)
	}
	return io.MultiReader(strings.NewReader(first), cmd.Stdin)
}

// refused explains why a command did not begin. exit is nil for exit status 0.
func (s sudo) refused(h Host, exit *ssh.ExitError, said string) error {
	code := 0
	if exit != nil {
		code = exit.ExitStatus()
	}
	if !s.wanted {
		return &ShellError{Host: h, Code: code, Said: said}
	}
	return &SudoError{
		Host: h, Said: said, Missing: code == 127,
		Wanted:  s.password == "" && strings.Contains(said, "password is required"),
		Refused: s.password != "" && wrongPassword(said),
	}
}

// SudoError says that the user cannot become root.
type SudoError struct {
	Host    Host
	Wanted  bool   // it asks for a password, and none was given
	Refused bool   // the password was refused
	Missing bool   // the host has no sudo
	Said    string // by sudo
}

func (e *SudoError) Error() string {
	switch {
	case e.Missing:
		return fmt.Sprintf("become root on %s: there is no sudo: %s", e.Host, lastLine(e.Said))
	case e.Wanted:
		return fmt.Sprintf("become root on %s: sudo asks for a password", e.Host)
	case e.Refused:
		return fmt.Sprintf("become root on %s: sudo refused the password", e.Host)
	case e.noRule():
		return fmt.Sprintf("become root on %s: sudo refused: %s", e.Host, lastLine(e.Said))
	}
	return fmt.Sprintf("become root on %s: sudo failed: %s", e.Host, cmp.Or(lastLine(e.Said), "it printed no reason"))
}

// noRule reports whether the sudoers files have no rule for the user.
func (e *SudoError) noRule() bool {
	for _, text := range []string{"not in the sudoers file", "may not run sudo", "not allowed to", "must have a tty", "no tty present"} {
		if strings.Contains(e.Said, text) {
			return true
		}
	}
	return false
}

// Hint returns the next step. It names the sudoers files only if a rule there is the fix.
func (e *SudoError) Hint() string {
	file := " in /etc/sudoers.d/airgap on " + e.Host.Name
	switch {
	case e.Missing:
		return "install the package sudo on " + e.Host.Name + ", or set ssh.user in airgap.yaml to root"
	case e.Wanted:
		return "run airgap on a terminal and enter the password, or allow sudo without one: " + e.Host.User + " ALL=(ALL) NOPASSWD: ALL" + file
	case e.Refused:
		return "run airgap on a terminal and enter the password of " + e.Host.User + " on " + e.Host.Name
	case strings.Contains(e.Said, "tty"):
		return "Defaults:" + e.Host.User + " !requiretty" + file
	case e.noRule():
		return e.Host.User + " ALL=(ALL) ALL" + file + " (visudo -f), or another ssh.user in airgap.yaml"
	case strings.Contains(e.Said, "expired"):
		return "log in on " + e.Host.Name + " as " + e.Host.User + " and change the password: passwd"
	}
	return "log in on " + e.Host.Name + " as " + e.Host.User + ", run sudo -v and fix the cause that it prints"
}

// BecomeRoot finds out how commands run as root on the host, and stores it. An
// error that the user can fix is a SudoError or a ShellError.
func (c *Client) BecomeRoot(ctx context.Context, password string) error {
	if isRoot, err := c.isRoot(ctx, sudo{}); isRoot || err != nil {
		return err
	}
	as := sudo{wanted: true}
	isRoot, err := c.isRoot(ctx, as)
	if no, is := errors.AsType[*SudoError](err); is && no.Wanted && password != "" {
		as.password = password
		isRoot, err = c.isRoot(ctx, as)
	}
	if err == nil && !isRoot {
		err = &SudoError{Host: c.Host, Said: "it runs commands as another user than root"}
	}
	if err == nil {
		c.sudo = as
	}
	return err
}

func wrongPassword(said string) bool {
	return strings.Contains(said, "incorrect password") || strings.Contains(said, "no password was provided") || strings.Contains(said, "Sorry, try again")
}

// isRoot reports whether commands run as root.
func (c *Client) isRoot(ctx context.Context, as sudo) (bool, error) {
	var out bytes.Buffer
	err := c.run(ctx, as, Command{Args: []string{"id", "-u"}, Stdout: &out})
	return strings.TrimSpace(out.String()) == "0", err
}
