package backup

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
)

// KeyDir is the directory with the key that signs a host's backups, and with the recipients
// that they are encrypted to. It is in no backup: a stolen backup must not sign another one.
type KeyDir string

const recipientsName = "recipients"

// Key is the key of this host, made when it is missing.
func (d KeyDir) Key() (*ecdsa.PrivateKey, error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, err
	}
	return bundle.LoadOrCreateKey(string(d))
}

// Public is the public half of this host's key; nil where there is none.
func (d KeyDir) Public() (*ecdsa.PublicKey, error) {
	key, err := bundle.LoadKey(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as said above
	}
	if err != nil {
		return nil, err
	}
	return &key.PublicKey, nil
}

// Trust is for backups that this very host has made.
func (d KeyDir) Trust() (Trust, error) {
	key, err := d.Public()
	if err != nil || key == nil {
		return Trust{}, err
	}
	return Trust{Keys: []*ecdsa.PublicKey{key}}, nil
}

// Recipients returns the recipients of airgap.yaml from the last install.
func (d KeyDir) Recipients() ([]string, error) {
	text, err := os.ReadFile(d.recipientsFile())
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }), host.IgnoreMissing(err)
}

func (d KeyDir) recipientsFile() string { return filepath.Join(string(d), recipientsName) }

// holds reports whether the key exists and the recipients are these.
func (d KeyDir) holds(recipients []string) (bool, error) {
	key, err := d.Public()
	if err != nil || key == nil {
		return false, err
	}
	have, err := d.Recipients()
	return slices.Equal(have, recipients), err
}

// plan returns the changes that setUp would make.
func (d KeyDir) plan(recipients []string) (changes []string, err error) {
	key, err := d.Public()
	if err != nil {
		return nil, err
	}
	if key == nil {
		changes = append(changes, "make the key that signs backups in "+string(d))
	}
	have, err := d.Recipients()
	switch {
	case slices.Equal(have, recipients):
	case len(recipients) == 0:
		changes = append(changes, "encrypt backups no longer: remove "+d.recipientsFile())
	default:
		changes = append(changes, "encrypt backups to "+strings.Join(recipients, ", "))
	}
	return changes, err
}

func (d KeyDir) setUp(recipients []string) error {
	if _, err := d.Key(); err != nil {
		return err
	}
	if len(recipients) == 0 {
		return host.Remove(d.recipientsFile())
	}
	return host.WriteFile(d.recipientsFile(), []byte(strings.Join(recipients, "\n")+"\n"), 0o600)
}

func (d KeyDir) remove(context.Context) error { return host.RemoveTree(string(d)) }
