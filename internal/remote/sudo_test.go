package remote

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
)

func TestBecomeRoot(t *testing.T) {
	const rule = "ops ALL=(ALL) "
	for name, tc := range map[string]struct {
		sudo     string // "" for root; or its words and exit status
		password string
		want     string
		says     SudoError // of Wanted, Refused and Missing
		hint     string
	}{
		"root":              {"", "", "", SudoError{}, ""},
		"no password":       {"free rule", "", "", SudoError{}, ""},
		"password wanted":   {"rule", "", "sudo asks for a password", SudoError{Wanted: true}, rule + "NOPASSWD: ALL"},
		"password wrong":    {"rule", "hunter3", "sudo refused the password", SudoError{Refused: true}, "enter the password of ops"},
		"password right":    {"rule", "hunter2", "", SudoError{}, ""},
		"not in sudoers":    {"none", "hunter2", "ops is not in the sudoers file", SudoError{}, rule + "ALL in"},
		"free but no rule":  {"free", "", "ops is not in the sudoers file", SudoError{}, rule + "ALL in"},
		"there is no sudo":  {"sh: 1: exec: sudo: not found; 127", "", "there is no sudo", SudoError{Missing: true}, "install the package sudo"},
		"it wants a screen": {"sudo: sorry, you must have a tty to run sudo; 1", "", "you must have a tty", SudoError{}, "!requiretty"},
		"not this command": {
			"Sorry, user ops is not allowed to execute '/bin/sh -c x' as root on node2.; 1", "", "is not allowed to execute", SudoError{}, rule + "ALL in"},
		"expired": {"sudo: Account or password is expired, reset your password and try again; 1", "", "password is expired", SudoError{}, "passwd"},
		"a one-time password": {
			"Verification code: sudo: no password was provided\nsudo: a password is required; 1", "hunter2", "sudo failed: the host requires a one-time password", SudoError{}, rule + "NOPASSWD: ALL"},
		"locked": {
			"The account is locked due to 3 failed logins.\nsudo: 1 incorrect password attempt; 1", "hunter2", "the account ops is locked", SudoError{}, "faillock --user"},
		"nosuid": {
			"sudo: effective uid is not 0, is /usr/bin/sudo on a file system with the 'nosuid' option set; 1", "", "sudo failed: sudo: effective uid", SudoError{}, "run sudo -v"},
		"bad sudoers file":  {"sudo: /etc/sudoers.d/x is world writable; 1", "", "world writable", SudoError{}, "run sudo -v"},
		"no shell for root": {"sudo: unable to execute /bin/sh: Permission denied; 1", "", "unable to execute", SudoError{}, "run sudo -v"},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := connected(t)
			s.Sudo(t, "hunter2", strings.Contains(tc.sudo, "free"), strings.Contains(tc.sudo, "rule"))
			if tc.sudo == "" {
				s.Root(t)
			}
			if text, code, is := strings.Cut(tc.sudo, "; "); is {
				s.Program(t, "sudo", "echo "+quote(text)+" >&2; exit "+code)
			}
			err := c.BecomeRoot(t.Context(), tc.password)
			if tc.want != "" {
				got, is := errors.AsType[*SudoError](err)
				if !is || !strings.Contains(err.Error(), tc.want) || got.Wanted != tc.says.Wanted || got.Refused != tc.says.Refused ||
					got.Missing != tc.says.Missing || !strings.Contains(got.Hint(), tc.hint) || strings.Contains(got.Hint(), "sudoers") != strings.Contains(tc.hint, rule[:4]) && tc.hint != "!requiretty" {
					t.Errorf("got %v\nhint: %s\nwant %q, %q", err, advice.Of(err), tc.want, tc.hint)
				}
				if open, is := errors.AsType[*UnansweredError](err); is && open.Locked != (name == "locked") {
					t.Errorf("unanswered: %+v", open)
				} else if is && name != "locked" && name != "a one-time password" {
					t.Errorf("unanswered: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := c.Run(t.Context(), Command{Args: []string{"sh", "-c", "id -u; cat"}, Stdin: strings.NewReader("the code\n"), Stdout: &out}); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); !strings.HasSuffix(got, "0\nthe code\n") {
				t.Errorf("the command saw %q", got)
			}
			if strings.Contains(s.Asked(), "hunter") {
				t.Errorf("the password is in a command line:\n%s", s.Asked())
			}
		})
	}
}
