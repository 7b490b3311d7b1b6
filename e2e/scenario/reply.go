package scenario

import (
	"regexp"
	"strings"

	"airgap.dev/airgap/e2e/secrets"
)

// reply is what a command said, on a server or on the connected host.
type reply struct {
	command        string
	args           []string
	stdout, stderr string
}

// codeForm is a one-time code in a text: what the cluster knows of it, and for
// control-plane hosts what it does not.
var codeForm = regexp.MustCompile(`\b([a-z0-9]{6}\.[a-z0-9]{16})(?:\.([a-z2-7]{26}))?\b`)

// givesCode reports whether a one-time code is among the command's results.
func (a reply) givesCode() bool {
	line := strings.Join(a.args, " ")
	return strings.Contains(line, "--new-code") || strings.Contains(line, "airgap install") || strings.Contains(line, "airgap restore")
}

// heard keeps a reply for the search, and notes the codes that it gives.
func heard(e *Env, where string, args []string, r Result) error {
	a := reply{where + ": " + strings.Join(args, " "), args, r.Stdout, r.Stderr}
	e.saidLock.Lock()
	e.said = append(e.said, a)
	e.saidLock.Unlock()
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
