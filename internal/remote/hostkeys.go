package remote

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"airgap.dev/airgap/internal/host"
)

// HostKeys are fingerprints from a file of the site. A host that the file has must show one of its keys.
type HostKeys struct {
	byHost map[string][]listedKey // by the name in the file
}

type listedKey struct {
	fingerprint string
	place       string // FILE:LINE
}

// Forms of a line.
const wantedKeyLine = "want HOST SHA256:FINGERPRINT, or a line of ssh-keyscan (HOST TYPE KEY)"

var fingerprintForm = regexp.MustCompile(`^SHA256:[A-Za-z0-9+/]{43}$`)

const (
	maxKeyProblems = 20
	maxHostKeys    = 16 << 20 // bytes of the file
)

// ReadHostKeys reads a file with a line for each key: HOST SHA256:…, or HOST TYPE KEY as ssh-keyscan prints it and
// known_hosts has it. HOST is a node's name, its address, or [ADDRESS]:PORT.
func ReadHostKeys(file string) (*HostKeys, error) {
	text, err := host.ReadInput(file, maxHostKeys)
	if err != nil {
		return nil, fmt.Errorf("read ssh.hostKeys: %w", err)
	}
	k := &HostKeys{map[string][]listedKey{}}
	var problems []string
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		place := fmt.Sprintf("%s:%d", file, i+1)
		hosts, fingerprint, err := readKeyLine(line)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", place, err))
		}
		for _, h := range hosts {
			k.byHost[h] = append(k.byHost[h], listedKey{fingerprint, place})
		}
	}
	if len(problems) == 0 && len(k.byHost) == 0 {
		problems = []string{file + ":1: the file has no key: " + wantedKeyLine}
	}
	if more := len(problems) - maxKeyProblems; more > 0 {
		problems = append(problems[:maxKeyProblems], fmt.Sprintf("and %d more lines", more))
	}
	if len(problems) > 0 {
		return nil, &KeyListError{problems}
	}
	return k, nil
}

// KeyListError has the lines of a list of host keys that airgap cannot read.
type KeyListError struct{ Problems []string }

func (e *KeyListError) Error() string {
	return "read ssh.hostKeys:\n" + strings.Join(e.Problems, "\n")
}

// Hint returns the next step.
func (*KeyListError) Hint() string {
	return "correct these lines and run the same command again; nothing was started"
}

func readKeyLine(line string) (hosts []string, fingerprint string, err error) {
	words := strings.Fields(line)
	switch {
	case strings.HasPrefix(line, "@"):
		return nil, "", fmt.Errorf("%s is for a known-hosts file: put the line into one, and name it in ssh.knownHosts", words[0])
	case len(words) < 2:
		return nil, "", errors.New(wantedKeyLine)
	case fingerprintForm.MatchString(words[1]):
		fingerprint = words[1]
	case strings.HasPrefix(words[1], "SHA256:"), strings.HasPrefix(words[1], "MD5:"):
		return nil, "", fmt.Errorf("%q is no whole SHA256 fingerprint: want one as ssh-keygen -l prints it, such as SHA256:uNiVztksCsDhcc0u9e8BrwCUQ7O4PA2wSl2mCgBPzRQ", words[1])
	default:
		_, _, key, _, _, err := ssh.ParseKnownHosts([]byte(line))
		if err != nil {
			return nil, "", errors.New(wantedKeyLine)
		}
		fingerprint = ssh.FingerprintSHA256(key)
	}
	for h := range strings.SplitSeq(words[0], ",") {
		if strings.ContainsAny(h, "|*?!") || h == "" {
			return nil, "", fmt.Errorf("%q: want the name or the address of a host, not a pattern or a hash", h)
		}
		hosts = append(hosts, h)
	}
	return hosts, fingerprint, nil
}

// of returns the keys of a host. k can be nil.
func (k *HostKeys) of(h Host) (all []listedKey) {
	if k == nil {
		return nil
	}
	names := []string{h.Address, h.Name, knownhosts.Normalize(h.Addr())}
	if h.KeyAlias != "" {
		names = []string{h.KeyAlias}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		all = append(all, k.byHost[name]...)
	}
	return all
}

func judgeListed(h Host, key ssh.PublicKey, listed []listedKey) error {
	var known []string
	for _, l := range listed {
		if l.fingerprint == ssh.FingerprintSHA256(key) {
			return nil
		}
		known = append(known, l.fingerprint+" ("+l.place+")")
	}
	return &HostKeyError{Host: h, Key: key, Known: known}
}
