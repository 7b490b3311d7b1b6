package host

import (
	"crypto/rand"
	"os"
	"os/user"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// OriginVariable has the Origin in the environment of a long command that airgap starts on another host.
const OriginVariable = "AIRGAP_FOR"

// Origin is the run of airgap on another host that ordered a run on this one. It is the claim of that host: it is for
// the journal, and never gives a permission.
type Origin struct {
	User string `json:"user"` // the operator
	Host string `json:"host"`
	Run  string `json:"run"` // the RunID
}

// String is "kim@node1", or "" if no other host ordered the run.
func (o Origin) String() string {
	if o == (Origin{}) {
		return ""
	}
	return o.User + "@" + o.Host
}

// Variable is the assignment for the environment.
func (o Origin) Variable() string { return OriginVariable + "=" + o.Run + ":" + o.Host + ":" + o.User }

// RunID is a random number of this process.
func RunID() string { return runID() }

var runID = sync.OnceValue(rand.Text) //nolint:gochecknoglobals // its first call decides it for the process

// OriginHere is the Origin of the commands that this process starts on other hosts.
func OriginHere() Origin {
	name, _ := os.Hostname() // empty if the kernel has none
	return Origin{OperatorOrUser(), name, RunID()}
}

// OperatorOrUser is the Operator, or else the user of this process.
func OperatorOrUser() string {
	if by := Operator(); by != "" {
		return by
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

// OrderedBy is the Origin of this process; zero if the environment has none, or one that cannot be right.
func OrderedBy() Origin { return parseOrigin(os.Getenv(OriginVariable)) }

// maxOriginPart is the length in bytes that a name of a user may have, and more than other parts have.
const maxOriginPart = 128

func parseOrigin(value string) Origin {
	parts := strings.SplitN(value, ":", 3)
	if len(parts) < 3 || !originPart(parts[0], "") || !originPart(parts[1], ".-_") || !originPart(parts[2], `.-_@\$ `) {
		return Origin{}
	}
	return Origin{User: parts[2], Host: parts[1], Run: parts[0]}
}

// originPart reports whether a part of an Origin has only letters, digits and these signs.
func originPart(text, signs string) bool {
	return text != "" && len(text) <= maxOriginPart && utf8.ValidString(text) && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(signs, r)
		})
}
