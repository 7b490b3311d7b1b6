// Package trust has the authority of a cluster's registries: its certificate and key, the
// certificates of the hosts, how a new host comes to trust them by a hash alone, and the receipts
// that the authority signs.
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

// RenewBefore is how long before its end a server certificate stops being good
// enough.
const RenewBefore = 30 * 24 * time.Hour

// PKI is the directory with the authority and the server's certificate.
type PKI struct {
	Dir   string // /etc/airgap/pki
	Group string // group that may read the server's key; "" leaves it to root
}

// CAFile is the authority's certificate, which every client needs.
func (p PKI) CAFile() string { return filepath.Join(p.Dir, "ca.crt") }

// CAKeyFile is the authority's key, on control-plane hosts only, mode 0600.
func (p PKI) CAKeyFile() string { return filepath.Join(p.Dir, "ca.key") }

// CertificateFile is the server's certificate followed by the authority's.
func (p PKI) CertificateFile() string { return filepath.Join(p.Dir, "registry.crt") }

// KeyFile is the server's key, mode 0640 for Group.
func (p PKI) KeyFile() string { return filepath.Join(p.Dir, "registry.key") }

// Holds reports whether the certificates are there, belong together, name the
// host in every one of names (DNS names and IP addresses) and localhost, and
// are good from now until 30 days after.
func (p PKI) Holds(names []string, now time.Time) (bool, error) {
	ca, err := readCertificate(p.CAFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	pair, err := tls.LoadX509KeyPair(p.CertificateFile(), p.KeyFile())
	if err != nil {
		return false, nil //nolint:nilerr // missing or half written: it is issued again
	}
	all := WithLocalhost(names)
	return servesFor(pair.Leaf, ca, all, now) && servesFor(pair.Leaf, ca, all, now.Add(RenewBefore)), p.keyReadable()
}

// Ensure makes the authority unless there is one, and issues the server's
// certificate. A key written before a crash is replaced together with its
// certificate.
func (p PKI) Ensure(names []string, now time.Time) error {
	ca, key, err := p.authority(now)
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

// Renew is RenewWithin 30 days.
func (p PKI) Renew(now time.Time) (renewed bool, ends time.Time, err error) {
	return p.RenewWithin(now, RenewBefore)
}

// RenewWithin issues the server's certificate anew, for the same names, when it
// ends within so long, is not valid yet or is not that of the key beside it. A running registry
// serves it from the next connection on. ends is when the certificate that is
// there afterwards does.
func (p PKI) RenewWithin(now time.Time, within time.Duration) (renewed bool, ends time.Time, err error) {
	leaf, err := readCertificate(p.CertificateFile())
	if err != nil {
		return false, ends, fmt.Errorf("renew registry certificate: %w", err)
	}
	_, unfit := tls.LoadX509KeyPair(p.CertificateFile(), p.KeyFile()) // a power cut between the two
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

// subjectsOf are the DNS names and addresses that a certificate is for.
func subjectsOf(leaf *x509.Certificate) []string {
	names := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// authority loads the CA or makes one. The key is written first: a key without
// a certificate has signed nothing and may be replaced, a certificate without
// its key is another host's and may not.
func (p PKI) authority(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	ca, err := readCertificate(p.CAFile())
	if err == nil {
		key, err := readKey(p.CAKeyFile())
		if err == nil {
			if trouble := validity.Of(ca).Trouble(now, 0); trouble != "" {
				err = fmt.Errorf("registry CA %s %s; this host's clock says %s", p.CAFile(), trouble, now.UTC().Format(time.RFC3339))
			}
		}
		return ca, key, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	ca, key, err := newAuthority(now)
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

// Remove takes the four files away, and the directory when it is empty then.
func (p PKI) Remove() error {
	for _, f := range []string{p.CertificateFile(), p.KeyFile(), p.CAFile(), p.CAKeyFile()} {
		if err := host.Remove(f); err != nil {
			return fmt.Errorf("remove registry certificates: %w", err)
		}
	}
	_ = os.Remove(p.Dir) // someone else's files may be in it
	return nil
}

// keyReadable is an error when the key lets others read it.
func (p PKI) keyReadable() error {
	info, err := os.Stat(p.KeyFile())
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("registry key %s can be read by everybody: mode %o, want 640", p.KeyFile(), info.Mode().Perm())
	}
	return nil
}

// WithLocalhost are the names that a certificate for these is issued for.
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
