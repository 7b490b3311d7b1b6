package remote

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/remote/sshtest"
)

// TestDemands: prompts and messages of PAM, sshd and sudo.
func TestDemands(t *testing.T) {
	for text, want := range map[string]demand{
		"Password: ": aPassword, "ops@node2's password: ": aPassword, "Passwort: ": aPassword, "암호:": aPassword, "비밀번호: ": aPassword, "First Factor: ": unknown,
		"Verification code: ": oneTime, "One-time password (OATH) for `ops': ": oneTime, "Enter PASSCODE: ": oneTime, "Password & verification code: ": oneTime,
		"OTP: ": oneTime, "Second Factor (optional): ": oneTime, "인증번호: ": oneTime, "일회용 비밀번호: ": oneTime,
		"New password: ": newSecret, "Current password: ": newSecret, "(current) UNIX password: ": newSecret, "Retype new password: ": newSecret,
		"You are required to change your password immediately (administrator enforced).": newSecret, "새 암호:": newSecret, "현재 비밀번호:": newSecret,
		"WARNING: Your password has expired.\nPassword change required but no TTY available.": newSecret,
		"sudo: Account or password is expired, reset your password and try again":             newSecret,
		"The account is locked due to 3 failed logins.\n(10 minutes left to unlock)":          lockedOut, "Account temporarily locked": lockedOut,
		"Your password will expire in 5 days": aPassword, "Accounts are locked after three attempts": unknown, "1) Backup 2) Exit": unknown,
	} {
		if got := demandOf(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

// asks is a PAM conversation: each line is a prompt, or ">" and a message that ends the connection.
func asks(s **sshtest.Server, got *[]string, prompts ...string) func(*ssh.ServerConfig) {
	return func(c *ssh.ServerConfig) {
		c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			for _, p := range prompts {
				if text, ends := strings.CutPrefix(p, ">"); ends {
					_, _ = ask("", text, nil, nil)
					(*s).Cut()
					return nil, errors.New("cut")
				}
				answers, err := ask("", "", []string{p}, []bool{strings.HasPrefix(p, "Choose")})
				if err != nil {
					return nil, err
				}
				*got = append(*got, answers...)
			}
			return nil, errors.New("no")
		}
	}
}

// TestQuestions: a host with other questions gets no password for them, and the error says what to do.
func TestQuestions(t *testing.T) {
	hostKey := sshtest.NewKey(t)
	for name, tc := range map[string]struct {
		prompts    []string
		given      int // answers with the password
		want, hint string
	}{
		"expired":            {[]string{"Password: ", "Current password: "}, 1, "the password of ops has expired: Current password:", "change the password with passwd"},
		"expired, announced": {[]string{"You must change your password now.\nNew password: "}, 0, "the password of ops has expired", "airgap never changes a password"},
		"a code":             {[]string{"Verification code: "}, 0, "the host requires a one-time password: Verification code:", "AuthenticationMethods publickey"},
		"password and code":  {[]string{"Password: ", "Verification code: "}, 1, "the host requires a one-time password", "add a key to ~ops/.ssh/authorized_keys on node2"},
		"a choice":           {[]string{"Choose 1 or 2: "}, 0, "the host asks a question that airgap cannot answer: Choose 1 or 2:", "ssh ops@127.0.0.1"},
		"another question":   {[]string{"Password: ", "Purpose of this login: "}, 1, "the host asks a question that airgap cannot answer: Purpose", "one password"},
		"locked":             {[]string{"The account is locked due to 3 failed logins.\nPassword: "}, 0, "the account ops is locked", "faillock --user ops --reset"},
		"asked again":        {[]string{"Password: ", "Password: "}, 1, "the password was refused", ""},
		"an unknown prompt":  {[]string{"Kennwort bitte: "}, 1, "the password was refused", ""},
		"booting":            {[]string{"Password: ", ">System is booting up."}, 1, "the host ended the connection after the password", "journalctl -u sshd"},
		"locked by this one": {[]string{"Password: ", ">Account locked due to 3 failed logins"}, 1, "the account ops is locked: Account locked due to 3", "faillock"},
	} {
		t.Run(name, func(t *testing.T) {
			var s *sshtest.Server
			var got []string
			s = sshtest.Serve(t, asks(&s, &got, tc.prompts...), hostKey)
			_, err := trusting(t, s, hostKey).Dial(t.Context(), hostAt(s), "hunter2")
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(hintOf(err), tc.hint) ||
				strings.Contains(err.Error()+hintOf(err), "hunter") {
				t.Errorf("got %v\nhint: %s\nwant %q, %q", err, hintOf(err), tc.want, tc.hint)
			}
			refused, is := errors.AsType[*PasswordError](err)
			open, isOpen := errors.AsType[*UnansweredError](err)
			if isOpen != slices.Contains([]string{"password and code", "another question", "booting", "locked by this one"}, name) || isOpen && open.Locked != (name == "locked by this one") {
				t.Errorf("unanswered: %t, %+v", isOpen, open)
			}
			if counts := tc.want == "the password was refused"; counts != (is && refused.Refused) || len(got) > tc.given {
				t.Errorf("the host got %q; refused: %v", got, err)
			}
		})
	}
}

// TestNoAnswerToThePassword: a host that hangs after the password got it.
func TestNoAnswerToThePassword(t *testing.T) {
	hostKey, never := sshtest.NewKey(t), make(chan struct{})
	s := sshtest.Serve(t, func(c *ssh.ServerConfig) {
		c.PasswordCallback = func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { <-never; return nil, errors.New("no") }
	}, hostKey)
	t.Cleanup(func() { close(never) })
	d := trusting(t, s, hostKey)
	d.Timeout = time.Second
	_, err := d.Dial(t.Context(), hostAt(s), "hunter2")
	if open, is := errors.AsType[*UnansweredError](err); !is || open.Locked || !strings.Contains(err.Error(), "wait for an answer to the password: no answer in time") || hintOf(err) == "" {
		t.Errorf("got %v\nhint: %s", err, hintOf(err))
	}
	if _, err = d.Dial(t.Context(), hostAt(s), ""); err == nil {
		t.Fatal("logged in without a password")
	}
	if _, is := errors.AsType[*UnansweredError](err); is {
		t.Errorf("no password was given: %v", err)
	}
}

// TestEndedWithBothMethods: the end of the connection after the password is no refusal, also on a host that offers two
// methods, of which the library then tries the other.
func TestEndedWithBothMethods(t *testing.T) {
	hostKey := sshtest.NewKey(t)
	var s *sshtest.Server
	var got []string
	booting := asks(&s, &got, "Password: ", ">System is booting up.")
	s = sshtest.Serve(t, func(c *ssh.ServerConfig) { booting(c); sshtest.Password("other")(c) }, hostKey)
	_, err := trusting(t, s, hostKey).Dial(t.Context(), hostAt(s), "hunter2")
	if _, is := errors.AsType[*EndedError](err); !is || len(got) != 1 {
		t.Errorf("the host got %q: %v", got, err)
	}
}

func hintOf(err error) string { return advice.Of(err) }

// TestPasswordNotSentTwice: a host that accepts both methods gets a wrong password through one of them.
func TestPasswordNotSentTwice(t *testing.T) {
	hostKey := sshtest.NewKey(t)
	one, other := &sshtest.Account{Password: "hunter2"}, &sshtest.Account{Password: "hunter2", PAM: true}
	s := sshtest.Serve(t, func(c *ssh.ServerConfig) { one.Setup(c); other.Setup(c) }, hostKey)
	_, err := trusting(t, s, hostKey).Dial(t.Context(), hostAt(s), "typo")
	if refused, is := errors.AsType[*PasswordError](err); !is || !refused.Refused {
		t.Errorf("got %v", err)
	}
	if got := append(one.Tried(), other.Tried()...); len(got) != 1 {
		t.Errorf("the host got %q", got)
	}
}

// TestExpiredBehindAKey: the key lets the user in, and sshd then runs passwd in place of the login shell.
func TestExpiredBehindAKey(t *testing.T) {
	c, s := connected(t)
	s.Program(t, "shell", "echo 'WARNING: Your password has expired.' >&2; echo 'Password change required but no TTY available.' >&2; exit 1")
	s.Shell = s.Path("shell")
	err := c.BecomeRoot(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "log in on node2") || !strings.Contains(err.Error(), "the password of ops has expired") || !strings.Contains(hintOf(err), "passwd") {
		t.Errorf("got %v\nhint: %s", err, hintOf(err))
	}
}
