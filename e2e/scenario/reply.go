package scenario

import (
	"regexp"
	"strings"

	"airgap.dev/airgap/e2e/secrets"
)

// reply is the output of a command on a server or on the connected host.
type reply struct {
	command        string
	args           []string
	stdout, stderr string
}

// codeForm matches a join token in a text: the part that the cluster knows, and for
// control-plane hosts the part that it does not know.
var codeForm = regexp.MustCompile(`\b([a-z0-9]{6}\.[a-z0-9]{16})(?:\.([a-z2-7]{26}))?\b`)

// givesCode reports whether the command prints a join token as its result.
func (a reply) givesCode() bool {
	line := strings.Join(a.args, " ")
	return strings.Contains(line, "--new-token") || strings.Contains(line, "airgap install") || strings.Contains(line, "airgap restore")
}

// record keeps a reply for the search, and adds the join tokens in it to the book.
func record(e *Env, where string, args []string, r Result) error {
	a := reply{where + ": " + strings.Join(args, " "), args, r.Stdout, r.Stderr}
	e.repliesLock.Lock()
	e.replies = append(e.replies, a)
	e.repliesLock.Unlock()
	if !a.givesCode() {
		return nil
	}
	for _, code := range codeForm.FindAllStringSubmatch(r.Stdout, -1) {
		if err := e.Book.Add(secrets.Code, "given by "+a.command, code[1]); err != nil {
			return err
		}
		if code[2] == "" {
			continue
		}
		if err := e.Book.Add(secrets.Seal, "given by "+a.command, code[2]); err != nil {
			return err
		}
	}
	return nil
}
