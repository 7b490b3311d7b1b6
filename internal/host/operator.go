package host

import (
	"os"
	"os/user"
	"strings"
)

// OperatorVariable has the Operator of a session in the environment of a command that the session runs in a unit: a
// unit has no login UID.
const OperatorVariable = "AIRGAP_OPERATOR"

// noLogin is the login UID of a process without a session.
const noLogin = "4294967295"

// Operator is the user who logged in. The kernel keeps the login UID after su and sudo. It is "" for a service, and "uid N"
// for a user of a directory that this program cannot ask.
func Operator() string {
	uid, err := os.ReadFile("/proc/self/loginuid")
	if err != nil {
		uid = nil // a kernel without audit
	}
	return operatorOf(strings.TrimSpace(string(uid)), os.Getenv)
}

func operatorOf(uid string, getenv func(string) string) string {
	if uid != "" && uid != noLogin {
		if u, err := user.LookupId(uid); err == nil {
			return u.Username
		}
		return "uid " + uid
	}
	if by := getenv(OperatorVariable); by != "" {
		return by
	}
	if by := getenv("SUDO_USER"); by != "root" {
		return by
	}
	return ""
}
