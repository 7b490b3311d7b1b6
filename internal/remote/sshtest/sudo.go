package sshtest

import (
	"os"
	"strings"
	"testing"
)

// sudo imitates the options of sudo that airgap uses: -n never asks, -S reads
// one line, -k asks even when it need not.
const sudo = `free=%FREE%; rule=%RULE%
while :; do case "$1" in
	-n) never=1 ;; -k) free= ;; -S) ;; -p) shift ;; --) shift; break ;;
esac; shift; done
if [ -z "$free" ]; then
	[ -z "$never" ] || { echo "sudo: a password is required" >&2; exit 1; }
	echo "We trust you have received the usual lecture." >&2
	IFS= read -r line || { echo "sudo: no password was provided" >&2; exit 1; }
	printf '%s\n' "$line" >>%TRIED%
	[ "$line" = %PASSWORD% ] || { echo "Sorry, try again." >&2; echo "sudo: 1 incorrect password attempt" >&2; exit 1; }
fi
[ -n "$rule" ] || { echo "ops is not in the sudoers file." >&2; exit 1; }
AS=0; export AS; exec "$@"`

// Sudo makes the user a plain one with a password: free is without being asked
// for it, rule is in the sudoers file.
func (s *Server) Sudo(t *testing.T, password string, free, rule bool) {
	t.Helper()
	flag := map[bool]string{true: "1"}
	s.Program(t, "id", `echo "${AS-1000}"`)
	s.Program(t, "sudo", strings.NewReplacer("%FREE%", flag[free], "%RULE%", flag[rule], "%PASSWORD%", password, "%TRIED%", s.Path(sudoTried)).Replace(sudo))
}

const sudoTried = "sudo.tried"

// SudoTried returns the passwords that sudo got.
func (s *Server) SudoTried() []string {
	text, _ := os.ReadFile(s.Path(sudoTried)) // there is none before the first
	return strings.Fields(string(text))
}

// Root makes the user root.
func (s *Server) Root(t *testing.T) {
	t.Helper()
	s.Program(t, "id", "echo 0")
}
