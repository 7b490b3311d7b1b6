// Package passwords reads the passwords of the other hosts from a file or a command of the site.
//
// A message of this package names a host, a file and a line. It never contains a password.
package passwords

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"airgap.dev/airgap/internal/remote"
)

// Kind is the use of a password.
type Kind string

const (
	Login Kind = "login"
	Sudo  Kind = "sudo"
)

// Password is the password of one host. Its zero value means that the source has none.
type Password struct {
	Text string
	From string // for messages
}

// Source has passwords of hosts.
type Source interface {
	// For returns the password of a host for one use.
	For(ctx context.Context, h remote.Host, kind Kind) (Password, error)
	String() string
}

// Open checks the source of airgap.yaml. It is nil if airgap.yaml has none. file is passwordFile with its whole path,
// hosts are the names in airgap.yaml.
func Open(file string, command, hosts []string) (Source, error) {
	switch {
	case file != "":
		return readFile(file, hosts)
	case len(command) > 0:
		return checkCommand(command)
	}
	return nil, nil
}

const maxPassword = 1 << 10 // bytes; sshd and PAM accept less

// problem says why a text cannot be a password, without the text.
func problem(text string) error {
	switch {
	case len(text) > maxPassword:
		return fmt.Errorf("the password is longer than %d bytes", maxPassword)
	case strings.TrimSpace(text) != text:
		return fmt.Errorf("the password begins or ends with a space")
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("the password contains a control character")
	}
	return nil
}
