package journal

import (
	"os"
	"os/user"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/version"
)

// invocation is the command that runs in this process, and its user.
func invocation() step.Invocation {
	i := step.Invocation{Command: verb(os.Args), PID: os.Getpid(), Program: version.String()}
	i.From, _, _ = strings.Cut(os.Getenv("SSH_CONNECTION"), " ") // sudo may remove it
	i.Host, _ = os.Hostname()                                    // empty if the kernel has none
	if u, err := user.Current(); err == nil {
		i.User = u.Username
	}
	if by := operator(); by != "" && by != i.User {
		i.User = by + " as " + i.User
	}
	return i
}

// operator is the user who logged in: the kernel keeps this after su and sudo. It is "" in a service.
func operator() string {
	if uid, err := os.ReadFile("/proc/self/loginuid"); err == nil {
		if u, err := user.LookupId(strings.TrimSpace(string(uid))); err == nil {
			return u.Username
		}
	}
	return os.Getenv("SUDO_USER")
}

// verb is the command without its flags and arguments: they may name files or contain codes.
func verb(args []string) string {
	words := append([]string{"airgap"}, args[min(1, len(args)):]...)
	groups := []string{"certs", "registry", "encryption", "upgrade"} // have subcommands that change a host
	if len(words) > 2 && slices.Contains(groups, words[1]) && strings.Trim(words[2], "abcdefghijklmnopqrstuvwxyz-") == "" && words[2][0] != '-' {
		return strings.Join(words[:3], " ")
	}
	return strings.Join(words[:min(len(words), 2)], " ")
}
