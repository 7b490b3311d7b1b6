package registry

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"airgap.dev/airgap/internal/host"
)

// adopt makes an authority of another host's certificate and key (PEM) this
// one's as well.
func (p PKI) adopt(ca, key []byte) error {
	if _, err := tls.X509KeyPair(ca, key); err != nil {
		return fmt.Errorf("take over the registry's authority: %w", err)
	}
	if err := host.WriteFile(p.CAKeyFile(), key, 0o600); err != nil {
		return err
	}
	return host.WriteFile(p.CAFile(), ca, 0o644)
}

// isAuthority reports whether this host has the authority ca with its key.
func (p PKI) isAuthority(ca []byte) (bool, error) {
	have, err := os.ReadFile(p.CAFile())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(have, ca) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	key, err := os.ReadFile(p.CAKeyFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = tls.X509KeyPair(ca, key)
	return err == nil, nil
}
