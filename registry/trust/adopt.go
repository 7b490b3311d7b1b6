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

// Install writes certificate and key of the CA (PEM), which come from another host.
func (p PKI) Install(ca, key []byte) error {
	if _, err := tls.X509KeyPair(ca, key); err != nil {
		return fmt.Errorf("install registry CA: %w", err)
	}
	if err := host.WriteFile(p.CAKeyFile(), key, 0o600); err != nil {
		return err
	}
	return host.WriteFile(p.CAFile(), ca, 0o644)
}

// CheckAuthority returns an error if key (PEM) does not belong to the certificate of the CA, or if
// the certificate is not valid at now.
func CheckAuthority(ca, key []byte, now time.Time) error {
	pair, err := tls.X509KeyPair(ca, key)
	if err == nil {
		if trouble := validity.Of(pair.Leaf).Trouble(now, 0); trouble != "" {
			err = errors.New("the certificate " + trouble)
		}
	}
	if err != nil {
		return fmt.Errorf("check registry CA: %w", err)
	}
	return nil
}

// HasCA reports whether this host has the CA ca (PEM) and its key.
func (p PKI) HasCA(ca []byte) (bool, error) {
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
