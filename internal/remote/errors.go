package remote

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// ErrLost says that the connection ended before the command did: the host was
// switched off, rebooted, or is no longer reachable. For errors.Is.
var ErrLost = errors.New("the connection was lost")

// HostKeyError says that a host showed a key that is not the known one, or
// that none is known.
type HostKeyError struct {
	Host  Host
	Key   ssh.PublicKey // the one shown
	Known []string      // where another one is written down; none when the host is unknown
}

// Unknown reports whether a user could confirm the key. A changed key cannot be
// confirmed.
func (e *HostKeyError) Unknown() bool { return len(e.Known) == 0 }

// Shown is the key's type and fingerprint as ssh-keygen -l prints them.
func (e *HostKeyError) Shown() string { return e.Key.Type() + " " + ssh.FingerprintSHA256(e.Key) }

func (e *HostKeyError) Error() string {
	if e.Unknown() {
		return fmt.Sprintf("the host key of %s is not known: %s", e.Host, e.Shown())
	}
	return fmt.Sprintf("the host key of %s is not the known one: it shows %s, known is %s", e.Host, e.Shown(), strings.Join(e.Known, ", "))
}

// Hint returns the next step.
func (e *HostKeyError) Hint() string {
	if e.Unknown() {
		return "compare it with the output of ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub on that host; then run airgap on a terminal and confirm the key, or add it to /etc/ssh/ssh_known_hosts"
	}
	return "another machine may be answering in its place; only when you know why the key changed, remove the old line (ssh-keygen -R '" + e.Host.Address + "' -f FILE), or make the bundle with the new hostKey"
}

// PassphraseError reports that the host would accept a key in an encrypted file.
type PassphraseError struct {
	Host Host
	File string
}

func (e *PassphraseError) Error() string {
	return fmt.Sprintf("log in on %s: the key %s needs its passphrase", e.Host, e.File)
}

// Hint returns the next step.
func (e *PassphraseError) Hint() string {
	return "run airgap on a terminal and enter it, or load the key into ssh-agent and keep SSH_AUTH_SOCK (sudo --preserve-env=SSH_AUTH_SOCK)"
}

// PasswordError reports that the host asks for a password: none was given, or it
// was refused.
type PasswordError struct {
	Host    Host
	Refused bool
	Tried   []string // keys that it did not take
	Said    string   // by the host, after the password
}

func (e *PasswordError) Error() string {
	if e.Refused {
		if said := lastLine(e.Said); said != "" {
			return fmt.Sprintf("log in on %s: the password was refused: %s", e.Host, said)
		}
		return fmt.Sprintf("log in on %s: the password was refused", e.Host)
	}
	return fmt.Sprintf("log in on %s: it asks for a password%s", e.Host, refused(e.Tried))
}

// Hint returns the next step.
func (e *PasswordError) Hint() string {
	if e.Refused {
		return "ssh " + e.Host.User + "@" + e.Host.Address + " has to work with it"
	}
	return "run airgap on a terminal and enter the password, or add one of these keys to " + authorizedKeys(e.Host) +
		", or set ssh.passwordFile or ssh.passwordCommand in airgap.yaml"
}

// AgentError says that the agent did not sign for a login, before the login's time was over.
type AgentError struct {
	Host   Host
	Socket string
	Err    error
}

func (e *AgentError) Error() string {
	return fmt.Sprintf("log in on %s: wait for a signature of the agent at %s: %v", e.Host, e.Socket, e.Err)
}

func (e *AgentError) Unwrap() error { return e.Err }

// Hint returns the next step.
func (e *AgentError) Hint() string {
	return "confirm the signature where the agent runs, or run airgap without it: name a key with ssh.identityFile, and unset SSH_AUTH_SOCK"
}

// LoginError says that nothing lets us in.
type LoginError struct {
	Host  Host
	Tried []string
	Err   error
}

func (e *LoginError) Error() string {
	if len(e.Tried) == 0 {
		return fmt.Sprintf("log in on %s: there is no key to try: %v", e.Host, e.Err)
	}
	return fmt.Sprintf("log in on %s: refused%s: %v", e.Host, refused(e.Tried), e.Err)
}

func (e *LoginError) Unwrap() error { return e.Err }

// Hint returns the next step.
func (e *LoginError) Hint() string {
	if len(e.Tried) == 0 {
		return "name a key with ssh.identityFile in airgap.yaml, or start ssh-agent and keep SSH_AUTH_SOCK (sudo --preserve-env=SSH_AUTH_SOCK)"
	}
	return "put the public half of the key into " + authorizedKeys(e.Host) + "; ssh.identityFile in airgap.yaml names another key"
}

func authorizedKeys(h Host) string {
	return "~" + h.User + "/.ssh/authorized_keys on " + h.Name
}

func refused(tried []string) string {
	if len(tried) == 0 {
		return ""
	}
	return ", and did not take " + strings.Join(tried, ", ")
}

// ShellError says that the user's login shell did not run a command.
type ShellError struct {
	Host Host
	Code int    // exit status of the login shell
	Said string // by the login shell

	expired bool // the password; sshd then runs passwd in place of the shell
}

func (e *ShellError) Error() string {
	if e.expired {
		return fmt.Sprintf("log in on %s: %s: %s", e.Host, newSecret.problem(e.Host), lastLine(e.Said))
	}
	return fmt.Sprintf("run /bin/sh on %s: the login shell of %s did not run it (exit status %d): %s",
		e.Host, e.Host.User, e.Code, cmp.Or(lastLine(e.Said), "it printed no reason"))
}

// Hint returns the next step.
func (e *ShellError) Hint() string {
	if e.expired {
		return newSecret.hint(e.Host)
	}
	return "make this command succeed: ssh " + e.Host.User + "@" + e.Host.Address + " exec /bin/sh -c true; the user may need another login shell: usermod --shell /bin/bash " + e.Host.User
}

// WaitError says that a part of the host did not answer in time, on a connection that is alive.
type WaitError struct {
	Host  Host
	What  string // sudo, the login shell
	Limit time.Duration
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("become root on %s: %s did not answer within %s", e.Host, e.What, e.Limit)
}

// Hint returns the next step.
func (e *WaitError) Hint() string {
	login := "log in on " + e.Host.Name + " as " + e.Host.User
	if e.What == "sudo" {
		return login + " and run sudo -v: it may wait for a directory of users (SSSD, LDAP), a second factor or a name server"
	}
	return login + ": its home directory may be on a file server that does not answer, or a file such as .bashrc waits"
}

// SessionError says that the host refuses a session on a connection that it accepted.
type SessionError struct {
	Host Host
	Err  error
}

func (e *SessionError) Error() string { return fmt.Sprintf("open a session on %s: %v", e.Host, e.Err) }

func (e *SessionError) Unwrap() error { return e.Err }

// Hint returns the next step.
func (e *SessionError) Hint() string {
	return "MaxSessions of sshd must be 1 or more on " + e.Host.Name + " (sshd -T | grep -i maxsessions); if it is, read journalctl -u sshd there"
}

// ExitError says that a command ran and was not content.
type ExitError struct {
	Host Host
	Args []string
	Code int    // exit status; 128 plus the signal's number if one ended it
	Tail string // the last lines of stderr
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("run %s on %s: exit status %d", strings.Join(e.Args, " "), e.Host.Name, e.Code)
	if e.Tail != "" {
		text += ": " + e.Tail
	}
	return text
}
