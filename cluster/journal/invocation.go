package journal

import (
	"os"
	"os/user"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/version"
)

// Open returns the journal of this host for a run of this process.
func Open() *step.Journal { return step.OpenJournal(site.JournalFile).Of(invocation()) }

// invocation is the command that runs in this process, and its user.
func invocation() step.Invocation {
	i := step.Invocation{Command: verb(os.Args), PID: os.Getpid(), Program: version.String()}
	i.From, _, _ = strings.Cut(os.Getenv("SSH_CONNECTION"), " ") // sudo may remove it
	i.Host, _ = os.Hostname()                                    // empty if the kernel has none
	if u, err := user.Current(); err == nil {
		i.User = u.Username
	}
	if by := host.Operator(); by != "" && by != i.User {
		i.User = by + " as " + i.User
	}
	return i
}

// verb is the command without its flags and arguments: they may name files or contain codes.
func verb(args []string) string {
	for i, word := range args[min(1, len(args)):] {
		switch {
		case slices.Contains([]string{"install", "join", "rollback", "remove", "restore", "reset", "upgrade"}, word):
			if next := args[i+2:]; word == "upgrade" && len(next) > 0 && next[0] == "node" {
				return "airgap upgrade node"
			}
			return "airgap " + word
		case word == "certs":
			return "airgap certs rotate-ca"
		}
	}
	return "airgap"
}
