package remote

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// demand is the answer that a host wants in addition to a password, or in its place.
type demand int

const (
	aPassword demand = iota
	newSecret        // a new password: the old one has expired
	oneTime          // a code that is valid once
	lockedOut        // the end of a lock
	unknown
)

// refusesPassword reports whether a password is no answer.
func (d demand) refusesPassword() bool { return d == newSecret || d == oneTime || d == lockedOut }

// The texts are those of pam_unix, pam_sss, pam_faillock, pam_google_authenticator, sshd, sudo and common products for
// one-time passwords. PAM translates them into the language of sshd.
var (
	lockedText  = regexp.MustCompile(`(?i)account (is |has been |temporarily )*locked|계정이 (잠|잠겨)`)
	expiredText = regexp.MustCompile(`(?i)(new|retype|re-enter|current( unix)?|\(current\) unix|old) password|password( has)? expired|password is expired|` +
		`password change required|(must|required to) change your password|(새|현재)[^\n]*(비밀번호|암호)|(비밀번호|암호)[^\n]*만료`)
	oneTimeText = regexp.MustCompile(`(?i)verification code|one[- ]?time|\b(otp|totp|passcode|token(code)?|authenticator|yubikey|mfa|2fa)\b|` +
		`second factor|two[- ]factor|인증 ?(코드|번호)|일회용`)
	passwordText = regexp.MustCompile(`(?i)pass(word|wort|phrase|e)|pwd|mot de passe|contrase|비밀번호|암호|パスワード|密码|密碼`)
)

// demandOf reads a prompt, or the message of a host that ended a login.
func demandOf(text string) demand {
	switch {
	case lockedText.MatchString(text):
		return lockedOut
	case expiredText.MatchString(text):
		return newSecret
	case oneTimeText.MatchString(text):
		return oneTime
	case passwordText.MatchString(text):
		return aPassword
	}
	return unknown
}

// maxSaid is more text than a host needs to explain a refusal.
const maxSaid = 4 << 10

// DemandError says that a password does not let us in: the host wants a new one, a one-time password, or an answer that
// airgap does not know. No wrong password was given.
type DemandError struct {
	Host Host
	Said string // by the host

	wants demand
}

func (e *DemandError) Error() string {
	return fmt.Sprintf("log in on %s: %s: %s", e.Host, e.wants.problem(e.Host), lastLine(e.Said))
}

func (d demand) problem(h Host) string {
	switch d {
	case newSecret:
		return "the password of " + h.User + " has expired"
	case oneTime:
		return "the host requires a one-time password"
	case lockedOut:
		return "the account " + h.User + " is locked"
	}
	return "the host asks a question that airgap cannot answer"
}

// Hint returns the next step.
func (e *DemandError) Hint() string {
	if e.wants == oneTime {
		return "airgap opens several connections, and a one-time password is valid for one: add a key to " + authorizedKeys(e.Host) +
			", and accept it alone for this user (AuthenticationMethods publickey in a Match block of sshd_config) during the run"
	}
	return e.wants.hint(e.Host)
}

func (d demand) hint(h Host) string {
	login := "ssh " + h.User + "@" + h.Address
	switch d {
	case newSecret:
		return "log in once (" + login + "), change the password with passwd, and run the same command again; airgap never changes a password"
	case lockedOut:
		return "wait until the lock ends, or unlock the account as root on " + h.Name + ": faillock --user " + h.User + " --reset"
	}
	return "make this login succeed with a key or one password: " + login
}

// EndedError says that a host ended the connection after it got the password, or did not answer. That says nothing about
// the password: sshd does this while the host boots, for example.
type EndedError struct {
	Host Host
	Said string
	Err  error

	late bool // it did not answer in time
}

func (e *EndedError) Error() string {
	if e.late {
		return fmt.Sprintf("log in on %s: wait for an answer to the password: %v", e.Host, e.Err)
	}
	if said := lastLine(e.Said); said != "" {
		return fmt.Sprintf("log in on %s: the host ended the connection after the password: %s", e.Host, said)
	}
	return fmt.Sprintf("log in on %s: the host ended the connection after the password: %v", e.Host, e.Err)
}

func (e *EndedError) Unwrap() error { return e.Err }

// Hint returns the next step.
func (e *EndedError) Hint() string {
	if e.late {
		return "log in on " + e.Host.Name + " yourself: it may wait for a directory of users (SSSD, LDAP) or a name server; journalctl -u sshd there"
	}
	return "the log of sshd on " + e.Host.Name + " has the reason: journalctl -u sshd"
}

// dropped reports whether the connection ended without an answer to the password.
func dropped(err error) bool {
	text := err.Error()
	return !errors.Is(err, errNoPassword) && !strings.Contains(text, "unable to authenticate") && !strings.Contains(text, "Too many authentication failures")
}
