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

// invocation is the command that runs in this process, and its user: "ops as root, for kim@node1".
func invocation() step.Invocation {
	i := step.Invocation{Command: verb(os.Args), PID: os.Getpid(), Program: version.String(), ID: host.RunID(), For: host.OrderedBy()}
	i.From, _, _ = strings.Cut(os.Getenv("SSH_CONNECTION"), " ") // sudo may remove it
	i.Host, _ = os.Hostname()                                    // empty if the kernel has none
	if u, err := user.Current(); err == nil {
		i.User = u.Username
	}
	if by := host.Operator(); by != "" && by != i.User {
		i.User = by + " as " + i.User
	}
	if by := i.For.String(); by != "" {
		i.User += ", for " + by
	}
	return i
}

// commands are the commands that write the journal, with their subcommands.
func commands() map[string][]string {
	return map[string][]string{
		"install": nil, "join": nil, "rollback": nil, "remove": nil, "restore": nil, "reset": nil, "upgrade": {"node"},
		"certs": {"renew", "rotate-ca"}, "encryption": {"rotate"}, "registry": {"import", "passwd", "prune", "renew"},
	}
}

// verb is the command without its flags and arguments: they may name files or contain codes.
func verb(args []string) string {
	for i, word := range args[min(1, len(args)):] {
		below, known := commands()[word]
		if !known {
			continue
		}
		if next := args[i+2:]; len(next) > 0 && slices.Contains(below, next[0]) {
			word += " " + next[0]
		}
		return "airgap " + word
	}
	return "airgap"
}
