package trust

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/validity"
)

// Adopt makes an authority of another host's certificate and key (PEM) this
// one's as well.
func (p PKI) Adopt(ca, key []byte) error {
	if _, err := tls.X509KeyPair(ca, key); err != nil {
		return fmt.Errorf("take over the registry's authority: %w", err)
	}
	if err := host.WriteFile(p.CAKeyFile(), key, 0o600); err != nil {
		return err
	}
	return host.WriteFile(p.CAFile(), ca, 0o644)
}

// CheckAuthority wants the key (PEM) to be that of the authority's certificate, and
// that to be good now.
func CheckAuthority(ca, key []byte, now time.Time) error {
	pair, err := tls.X509KeyPair(ca, key)
	if err == nil {
		if trouble := validity.Of(pair.Leaf).Trouble(now, 0); trouble != "" {
			err = errors.New("it " + trouble)
		}
	}
	if err != nil {
		return fmt.Errorf("check the registry's authority: %w", err)
	}
	return nil
}

// IsAuthority reports whether this host has the authority ca with its key.
func (p PKI) IsAuthority(ca []byte) (bool, error) {
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
