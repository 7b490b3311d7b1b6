package lab

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// knownKey returns a callback that compares the key of HOST:PORT with a known_hosts file,
// and the host key algorithms to request. Without these, a host with keys of several types
// could present a key that is not in the file.
func knownKey(file, addr string) (ssh.HostKeyCallback, []string, error) {
	check, err := knownhosts.New(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read knownHosts: %w", err)
	}
	var asked *knownhosts.KeyError
	if err := check(addr, &net.TCPAddr{}, unknownKey{}); !errors.As(err, &asked) {
		return nil, nil, fmt.Errorf("look for %s in %s: %w", addr, file, err)
	}
	var algorithms []string
	for _, known := range asked.Want {
		if kind := known.Key.Type(); kind == ssh.KeyAlgoRSA { // this name also selects SHA-1
			algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			algorithms = append(algorithms, kind)
		}
	}
	if len(algorithms) == 0 {
		return nil, nil, fmt.Errorf("%s has no key of %s: add a line with %s and the output of cat /etc/ssh/ssh_host_ed25519_key.pub on the host", file, addr, knownhosts.Normalize(addr))
	}
	return check, algorithms, nil
}

// unknownKey is a key that no host has: the error about it lists the known keys.
type unknownKey struct{}

func (unknownKey) Type() string                        { return "none" }
func (unknownKey) Marshal() []byte                     { return nil }
func (unknownKey) Verify([]byte, *ssh.Signature) error { return errors.New("no host has this key") }
