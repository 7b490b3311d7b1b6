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
		return &ShellError{Host: h, Code: code, Said: said, expired: demandOf(said) == newSecret}
	}
	wants := demandOf(lastLines(said, 3))
	return &SudoError{
		Host: h, Said: said, Missing: code == 127, wants: wants,
		Wanted:  s.password == "" && strings.Contains(said, "password is required") && !wants.refusesPassword(),
		Refused: s.password != "" && wrongPassword(said) && !wants.refusesPassword(),
	}
}

// SudoError says that the user cannot become root.
type SudoError struct {
	Host    Host
	Wanted  bool   // it asks for a password, and none was given
	Refused bool   // the password was refused
	Missing bool   // the host has no sudo
	Said    string // by sudo

	wants demand
}

func (e *SudoError) Error() string {
	switch {
	case e.Missing:
		return fmt.Sprintf("become root on %s: there is no sudo: %s", e.Host, lastLine(e.Said))
	case e.Wanted:
		return fmt.Sprintf("become root on %s: sudo asks for a password", e.Host)
	case e.Refused:
		return fmt.Sprintf("become root on %s: sudo refused the password", e.Host)
	case e.wants.refusesPassword():
		return fmt.Sprintf("become root on %s: sudo failed: %s: %s", e.Host, e.wants.problem(e.Host), lastLine(e.Said))
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
	case e.wants == oneTime:
		return "airgap runs many commands, and a one-time password is valid for one: " + e.Host.User + " ALL=(ALL) NOPASSWD: ALL" + file
	case e.wants.refusesPassword():
		return e.wants.hint(e.Host)
	case strings.Contains(e.Said, "tty"):
		return "Defaults:" + e.Host.User + " !requiretty" + file
	case e.noRule():
		return e.Host.User + " ALL=(ALL) ALL" + file + " (visudo -f), or another ssh.user in airgap.yaml"
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
		err = judgedSudo(err)
	}
	if err == nil && !isRoot {
		err = &SudoError{Host: c.Host, Said: "it runs commands as another user than root"}
	}
	if err == nil {
		c.sudo = as
	}
	return err
}

// SudoByPassword reports whether sudo accepted the password.
func (c *Client) SudoByPassword() bool { return c.sudo.password != "" }

func wrongPassword(said string) bool {
	return strings.Contains(said, "incorrect password") || strings.Contains(said, "no password was provided") || strings.Contains(said, "Sorry, try again")
}

// isRoot reports whether commands run as root. The login shell and sudo may hang: a home directory on a file server, a
// directory of users, a second factor.
func (c *Client) isRoot(ctx context.Context, as sudo) (bool, error) {
	what := "the login shell"
	if as.wanted {
		what = "sudo"
	}
	if c.Doing != nil {
		c.Doing(what)
	}
	var out bytes.Buffer
	limited, cancel := context.WithTimeout(ctx, c.answer)
	defer cancel()
	err := c.run(limited, as, Command{Args: []string{"id", "-u"}, Stdout: &out})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = &WaitError{Host: c.Host, What: what, Limit: c.answer}
	}
	return strings.TrimSpace(out.String()) == "0", err
}
