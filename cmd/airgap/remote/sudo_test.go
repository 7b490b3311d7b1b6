package remote

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// realSudo does what sudo does, as far as we use it: -n never asks, -S reads
// one line, -k asks even when it need not.
const realSudo = `free=%FREE%; rule=%RULE%
while :; do case "$1" in
	-n) never=1 ;; -k) free= ;; -S) ;; -p) shift ;; --) shift; break ;;
esac; shift; done
if [ -z "$free" ]; then
	[ -z "$never" ] || { echo "sudo: a password is required" >&2; exit 1; }
	echo "We trust you have received the usual lecture." >&2
	read -r line || { echo "sudo: no password was provided" >&2; exit 1; }
	[ "$line" = hunter2 ] || { echo "Sorry, try again." >&2; echo "sudo: 1 incorrect password attempt" >&2; exit 1; }
fi
[ -n "$rule" ] || { echo "ops is not in the sudoers file." >&2; exit 1; }
AS=0; export AS; exec "$@"`

func TestBecomeRoot(t *testing.T) {
	for name, tc := range map[string]struct {
		sudo     string // "" for root
		password string
		want     string
		says     SudoError // of Wanted and Refused
	}{
		"root":              {"", "", "", SudoError{}},
		"no password":       {"free rule", "", "", SudoError{}},
		"password wanted":   {"rule", "", "sudo wants a password", SudoError{Wanted: true}},
		"password wrong":    {"rule", "hunter3", "sudo refused the password", SudoError{Refused: true}},
		"password right":    {"rule", "hunter2", "", SudoError{}},
		"not in sudoers":    {"none", "hunter2", "ops is not in the sudoers file", SudoError{}},
		"free but no rule":  {"free", "", "ops is not in the sudoers file", SudoError{}},
		"there is no sudo":  {"missing", "", "not found", SudoError{}},
		"it wants a screen": {"tty", "", "you must have a tty", SudoError{}},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := connected(t)
			s.program(t, "id", `echo "greetings from a login script"; echo "${AS-1000}"`)
			has := func(word, yes string) string {
				if strings.Contains(tc.sudo, word) {
					return yes
				}
				return ""
			}
			switch tc.sudo {
			case "":
				s.program(t, "id", "echo 0")
			case "missing":
				s.program(t, "sudo", `echo "sh: 1: sudo: not found" >&2; exit 127`)
			case "tty":
				s.program(t, "sudo", `echo "sudo: sorry, you must have a tty to run sudo" >&2; exit 1`)
			default:
				s.program(t, "sudo", strings.NewReplacer("%FREE%", has("free", "1"), "%RULE%", has("rule", "1")).Replace(realSudo))
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
			if strings.Contains(s.asked(), "hunter") {
				t.Errorf("the password is in a command line:\n%s", s.asked())
			}
		})
	}
}
