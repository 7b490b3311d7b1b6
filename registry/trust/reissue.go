package trust

import (
	"fmt"
	"time"
)

// NewAuthority makes a registry's authority as PEM, without a file of it.
func NewAuthority(now time.Time) (certificate, key []byte, err error) {
	ca, private, err := newAuthority(now)
	if err != nil {
		return nil, nil, err
	}
	key, err = encodeKey(private)
	return encodeCertificate(ca), key, err
}

// Reissue has the authority sign the server's certificate anew, for the same names. A
// running registry serves it from the next connection on.
func (p PKI) Reissue(now time.Time) error {
	leaf, err := readCertificate(p.CertificateFile())
	if err != nil {
		return fmt.Errorf("issue the registry's certificate anew: %w", err)
	}
	if err := p.Ensure(subjectsOf(leaf), now); err != nil {
		return fmt.Errorf("issue the registry's certificate anew: %w", err)
	}
	return nil
}
