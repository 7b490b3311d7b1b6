package remote

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestBecomeRoot(t *testing.T) {
	for name, tc := range map[string]struct {
		sudo     string // "" for root
		password string
		want     string
		says     SudoError // of Wanted and Refused
	}{
		"root":              {"", "", "", SudoError{}},
		"no password":       {"free rule", "", "", SudoError{}},
		"password wanted":   {"rule", "", "sudo asks for a password", SudoError{Wanted: true}},
		"password wrong":    {"rule", "hunter3", "sudo refused the password", SudoError{Refused: true}},
		"password right":    {"rule", "hunter2", "", SudoError{}},
		"not in sudoers":    {"none", "hunter2", "ops is not in the sudoers file", SudoError{}},
		"free but no rule":  {"free", "", "ops is not in the sudoers file", SudoError{}},
		"there is no sudo":  {"missing", "", "not found", SudoError{}},
		"it wants a screen": {"tty", "", "you must have a tty", SudoError{}},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := connected(t)
			s.Sudo(t, "hunter2", strings.Contains(tc.sudo, "free"), strings.Contains(tc.sudo, "rule"))
			switch tc.sudo {
			case "":
				s.Root(t)
			case "missing":
				s.Program(t, "sudo", `echo "sh: 1: sudo: not found" >&2; exit 127`)
			case "tty":
				s.Program(t, "sudo", `echo "sudo: sorry, you must have a tty to run sudo" >&2; exit 1`)
			}
			err := c.BecomeRoot(t.Context(), tc.password)
			if tc.want != "" {
				got, is := errors.AsType[*SudoError](err)
				if !is || !strings.Contains(err.Error(), tc.want) || got.Wanted != tc.says.Wanted || got.Refused != tc.says.Refused || got.Hint() == "" {
					t.Errorf("got %v, want %q", err, tc.want)
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
