package lab

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// knownKey judges the key that answers at HOST:PORT by a file of known keys, and
// gives the algorithms to ask for: a host with keys of several kinds would show
// another one than the file has.
func knownKey(file, addr string) (ssh.HostKeyCallback, []string, error) {
	check, err := knownhosts.New(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read knownHosts: %w", err)
	}
	var asked *knownhosts.KeyError
	if err := check(addr, &net.TCPAddr{}, nobodys{}); !errors.As(err, &asked) {
		return nil, nil, fmt.Errorf("look for %s in %s: %w", addr, file, err)
	}
	var algorithms []string
	for _, known := range asked.Want {
		if kind := known.Key.Type(); kind == ssh.KeyAlgoRSA { // which is SHA-1's name, too
			algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			algorithms = append(algorithms, kind)
		}
	}
	if len(algorithms) == 0 {
		return nil, nil, fmt.Errorf("%s has no key of %s: put it there as cat /etc/ssh/ssh_host_ed25519_key.pub prints it on the host, behind %s", file, addr, knownhosts.Normalize(addr))
	}
	return check, algorithms, nil
}

// nobodys is a key that no host has: asked about it, the file says what it knows.
type nobodys struct{}

func (nobodys) Type() string                        { return "none" }
func (nobodys) Marshal() []byte                     { return nil }
func (nobodys) Verify([]byte, *ssh.Signature) error { return errors.New("nobody's key") }
