package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"airgap.dev/airgap/internal/host"
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

// RetrustCRIO has CRI-O trust for its registries what a file says: it does not read
// that file, but copies of it beside the names of the registries. dir is Mirror's.
func RetrustCRIO(dir, caFile string) error {
	text, err := Mirror{CAFile: caFile}.authority()
	if err != nil {
		return err
	}
	copies, err := filepath.Glob(filepath.Join(dir, "certs.d", "*", authorityName))
	if err != nil {
		return err
	}
	for _, name := range copies {
		info, err := os.Stat(name)
		if err == nil {
			err = host.WriteFile(name, text, info.Mode().Perm())
		}
		if err != nil {
			return fmt.Errorf("have CRI-O trust the registries' authority: %w", err)
		}
	}
	return nil
}
