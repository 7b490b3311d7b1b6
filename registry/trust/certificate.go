package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"time"
)

const (
	caYears     = 10
	serverYears = 2
	// clockSkew is how far the clock of a server may be behind, so that a new certificate is
	// already valid there.
	clockSkew = 24 * time.Hour
)

// CAHash identifies a CA in a join command: "sha256:" and the lower-case hexadecimal SHA-256 of
// the DER form of its certificate.
func CAHash(ca *x509.Certificate) string {
	sum := sha256.Sum256(ca.Raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// IsCAHash reports whether text has the form of a CAHash.
func IsCAHash(text string) bool {
	digits, prefixed := strings.CutPrefix(strings.ToLower(text), "sha256:")
	sum, err := hex.DecodeString(digits)
	return prefixed && err == nil && len(sum) == sha256.Size
}

// CAHashOf returns the CAHash of the first certificate in a PEM file.
func CAHashOf(file string) (string, error) {
	ca, err := readCertificate(file)
	if err != nil {
		return "", err
	}
	return CAHash(ca), nil
}

func newCA(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, template, err := newTemplate("airgap registry CA", now, caYears)
	if err != nil {
		return nil, nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	ca, err := sign(template, template, key, key)
	return ca, key, err
}

// issued is a server's certificate and key, both PEM.
type issued struct{ certificate, key []byte }

func issue(ca *x509.Certificate, caKey *ecdsa.PrivateKey, names []string, now time.Time) (issued, error) {
	key, template, err := newTemplate("airgap registry", now, serverYears)
	if err != nil {
		return issued{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if template.NotAfter.After(ca.NotAfter) {
		template.NotAfter = ca.NotAfter
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	certificate, err := sign(template, ca, key, caKey)
	if err != nil {
		return issued{}, err
	}
	pem, err := encodeKey(key)
	return issued{encodeCertificate(certificate), pem}, err
}

func newTemplate(name string, now time.Time, years int) (*ecdsa.PrivateKey, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make key for %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, fmt.Errorf("make serial number for %s: %w", name, err)
	}
	return key, &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.AddDate(years, 0, 0),
	}, nil
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", template.Subject.CommonName, err)
	}
	return x509.ParseCertificate(der)
}

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func readCertificate(file string) (*x509.Certificate, error) {
	der, err := readPEM(file, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return c, nil
}

func readKey(file string) (*ecdsa.PrivateKey, error) {
	der, err := readPEM(file, "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if ec, ok := key.(*ecdsa.PrivateKey); ok {
		return ec, nil
	}
	return nil, fmt.Errorf("read %s: %w", file, errors.New("not an ECDSA key"))
}

func readPEM(file, kind string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("read %s: no PEM block %s", file, kind)
	}
	return block.Bytes, nil
}
