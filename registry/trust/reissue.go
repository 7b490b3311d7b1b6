package trust

import (
	"fmt"
	"time"
)

// NewAuthority makes a registry CA, certificate and key as PEM. It writes no file.
func NewAuthority(now time.Time) (certificate, key []byte, err error) {
	ca, private, err := newCA(now)
	if err != nil {
		return nil, nil, err
	}
	key, err = encodeKey(private)
	return encodeCertificate(ca), key, err
}

// Reissue issues a new server certificate for the same names. A running registry serves it from
// the next connection on.
func (p PKI) Reissue(now time.Time) error {
	leaf, err := readCertificate(p.CertificateFile())
	if err != nil {
		return fmt.Errorf("reissue registry certificate: %w", err)
	}
	if err := p.Ensure(subjectsOf(leaf), now); err != nil {
		return fmt.Errorf("reissue registry certificate: %w", err)
	}
	return nil
}
