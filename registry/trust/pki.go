// Package trust manages the CA of a cluster's registries: certificate and key of the CA, and the
// server certificates of the hosts. A new host fetches and verifies the CA with only its hash. The
// CA also signs receipts.
package trust

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/validity"
)

// RenewBefore is the time before expiry at which a server certificate is renewed.
const RenewBefore = 30 * 24 * time.Hour

// PKI is the directory with the CA and the server's certificate.
type PKI struct {
	Dir   string // /etc/airgap/pki
	Group string // group that may read the server's key; "": only root
}

// CAFile is the path of the CA certificate, which every client needs.
func (p PKI) CAFile() string { return filepath.Join(p.Dir, "ca.crt") }

// CAKeyFile is the path of the CA key, mode 0600, which only control-plane hosts have.
func (p PKI) CAKeyFile() string { return filepath.Join(p.Dir, "ca.key") }

// CertificateFile is the path of the server's certificate, followed by the CA certificate.
func (p PKI) CertificateFile() string { return filepath.Join(p.Dir, "registry.crt") }

// KeyFile is the path of the server's key, mode 0640 for Group.
func (p PKI) KeyFile() string { return filepath.Join(p.Dir, "registry.key") }

// Valid reports whether the certificates exist and belong together, are issued for names (DNS names
// and IP addresses) and localhost, and are valid from now for at least 30 days.
func (p PKI) Valid(names []string, now time.Time) (bool, error) {
	ca, err := readCertificate(p.CAFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	pair, err := tls.LoadX509KeyPair(p.CertificateFile(), p.KeyFile())
	if err != nil {
		return false, nil //nolint:nilerr // a missing or incomplete certificate is issued again
	}
	all := WithLocalhost(names)
	return servesFor(pair.Leaf, ca, all, now) && servesFor(pair.Leaf, ca, all, now.Add(RenewBefore)), p.keyReadable()
}

// Ensure makes the CA if there is none, and issues the server's certificate with a new key. This
// also replaces a key that a crash left without its certificate.
func (p PKI) Ensure(names []string, now time.Time) error {
	ca, key, err := p.loadCA(now)
	if err != nil {
		return err
	}
	pair, err := issue(ca, key, WithLocalhost(names), now)
	if err != nil {
		return err
	}
	if err := host.WriteForGroup(p.KeyFile(), pair.key, 0o640, p.Group); err != nil {
		return err
	}
	return host.WriteFile(p.CertificateFile(), append(pair.certificate, encodeCertificate(ca)...), 0o644)
}

// Renew calls RenewWithin with 30 days.
func (p PKI) Renew(now time.Time) (renewed bool, ends time.Time, err error) {
	return p.RenewWithin(now, RenewBefore)
}

// RenewWithin issues a new server certificate for the same names if the current one expires within
// the given time, is not valid yet, or does not belong to its key. A running registry serves it from
// the next connection on. ends is when the current certificate expires, after the renewal if any.
func (p PKI) RenewWithin(now time.Time, within time.Duration) (renewed bool, ends time.Time, err error) {
	leaf, err := readCertificate(p.CertificateFile())
	if err != nil {
		return false, ends, fmt.Errorf("renew registry certificate: %w", err)
	}
	_, unfit := tls.LoadX509KeyPair(p.CertificateFile(), p.KeyFile()) // after a power cut between the two files
	if unfit == nil && validity.Of(leaf).Left(now) > within {
		return false, leaf.NotAfter, nil
	}
	if err := p.Ensure(subjectsOf(leaf), now); err != nil {
		return false, ends, fmt.Errorf("renew registry certificate: %w", err)
	}
	fresh, err := readCertificate(p.CertificateFile())
	if err != nil {
		return true, ends, fmt.Errorf("renew registry certificate: %w", err)
	}
	return true, fresh.NotAfter, nil
}

// subjectsOf returns the DNS names and IP addresses of a certificate.
func subjectsOf(leaf *x509.Certificate) []string {
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// loadCA loads the CA or makes one. It writes the key first. A key without a certificate has signed
// nothing, so loadCA replaces it. A certificate without its key belongs to another host, and loadCA
// keeps it.
func (p PKI) loadCA(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	ca, err := readCertificate(p.CAFile())
	if err == nil {
		key, err := readKey(p.CAKeyFile())
		if err == nil {
			if trouble := validity.Of(ca).Trouble(now, 0); trouble != "" {
				err = fmt.Errorf("registry CA %s %s; the clock of this host shows %s", p.CAFile(), trouble, now.UTC().Format(time.RFC3339))
			}
		}
		return ca, key, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	ca, key, err := newCA(now)
	if err != nil {
		return nil, nil, err
	}
	pem, err := encodeKey(key)
	if err != nil {
		return nil, nil, err
	}
	if err := host.WriteFile(p.CAKeyFile(), pem, 0o600); err != nil {
		return nil, nil, err
	}
	return ca, key, host.WriteFile(p.CAFile(), encodeCertificate(ca), 0o644)
}

// Remove deletes the four files, and the directory if it is then empty.
func (p PKI) Remove() error {
	for _, f := range []string{p.CertificateFile(), p.KeyFile(), p.CAFile(), p.CAKeyFile()} {
		if err := host.Remove(f); err != nil {
			return fmt.Errorf("remove registry certificates: %w", err)
		}
	}
	_ = os.Remove(p.Dir) // it may contain other files
	return nil
}

// keyReadable returns an error if all users can read the key.
func (p PKI) keyReadable() error {
	info, err := os.Stat(p.KeyFile())
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("all users can read registry key %s: mode %o, expected 640", p.KeyFile(), info.Mode().Perm())
	}
	return nil
}

// WithLocalhost returns names and localhost, for which a certificate is issued.
func WithLocalhost(names []string) []string {
	all := append(slices.Clone(names), "localhost", "127.0.0.1")
	slices.Sort(all)
	return slices.Compact(all)
}

func servesFor(leaf, ca *x509.Certificate, names []string, at time.Time) bool {
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	for _, name := range names {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: at}); err != nil {
			return false
		}
	}
	return true
}
