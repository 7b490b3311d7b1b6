package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"airgap.dev/airgap/bundle"
)

// Receipt is what a registry host says that it has, for whoever makes the next
// bundle. Its file is this in JSON, then the authority's certificate and the
// signature over all that stands before them, in PEM.
type Receipt struct {
	Version int       `json:"version"` // 1
	Host    string    `json:"host"`
	Time    time.Time `json:"time"` // UTC
	bundle.Inventory
}

// MaxReceipt is the size of the largest receipt in bytes.
const MaxReceipt = 256 << 20

const (
	receiptVersion = 1
	signatureBlock = "AIRGAP RECEIPT SIGNATURE" // ECDSA over SHA-256, ASN.1 DER
	receiptEnd     = "\n-----BEGIN "            // no string of JSON holds a line break
)

// NewReceipt counts what the bundles hold, newest first.
func NewReceipt(host string, now time.Time, bundles []*bundle.Bundle) (Receipt, error) {
	if len(bundles) == 0 {
		return Receipt{}, errors.New("write receipt: no bundle in the store")
	}
	var indexes []*bundle.Index
	for _, b := range bundles {
		indexes = append(indexes, b.Index())
	}
	return Receipt{Version: receiptVersion, Host: host, Time: now.UTC().Truncate(time.Second), Inventory: bundle.NewInventory(indexes...)}, nil
}

// SignReceipt writes the receipt, signed by the registry's authority, and names
// the authority by its CAHash. Where this host does not have the authority's key
// the error is fs.ErrNotExist.
func (p PKI) SignReceipt(r Receipt) (text []byte, authority string, err error) {
	ca, err := readCertificate(p.CAFile())
	if err != nil {
		return nil, "", fmt.Errorf("sign receipt: %w", err)
	}
	key, err := readKey(p.CAKeyFile())
	if err != nil {
		return nil, "", fmt.Errorf("sign receipt: %w", err)
	}
	body, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, "", fmt.Errorf("sign receipt: %w", err)
	}
	body = append(body, '\n')
	digest := sha256.Sum256(body)
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		return nil, "", fmt.Errorf("sign receipt: %w", err)
	}
	text = append(body, encodeCertificate(ca)...)
	return append(text, pem.EncodeToMemory(&pem.Block{Type: signatureBlock, Bytes: signature})...), CAHash(ca), nil
}

// ErrReceipt is for errors.Is: a receipt that is none, is not signed, or was
// changed after it was signed.
var ErrReceipt = errors.New("not a receipt as a registry host wrote it")

// AuthorityError says that a receipt is signed by another authority than the
// wanted one.
type AuthorityError struct {
	Cluster, Host string // as the receipt says
	Shown, Want   string // CAHash; Want is "" when nobody has vouched for any
}

func (e *AuthorityError) Error() string {
	if e.Want == "" {
		return fmt.Sprintf("the receipt of %s says it is from %s and is signed by authority %s, for which nobody has vouched", e.Cluster, e.Host, e.Shown)
	}
	return fmt.Sprintf("the receipt of %s is signed by authority %s, want %s", e.Cluster, e.Shown, e.Want)
}

// ReadReceipt reads a receipt and checks that the authority with this CAHash
// signed it. Errors are ErrReceipt for errors.Is, or *AuthorityError.
func ReadReceipt(text []byte, authority string) (*Receipt, error) {
	body, ca, err := verifyReceipt(text)
	if err != nil {
		return nil, fmt.Errorf("read receipt: %w: %w", ErrReceipt, err)
	}
	r := &Receipt{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, fmt.Errorf("read receipt: %w: %w", ErrReceipt, err)
	}
	if r.Version != receiptVersion {
		return nil, fmt.Errorf("read receipt: version %d, this airgap knows %d: use the airgap that the servers have", r.Version, receiptVersion)
	}
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("read receipt: %w: %w", ErrReceipt, err)
	}
	if shown := CAHash(ca); shown != strings.ToLower(authority) {
		return nil, fmt.Errorf("read receipt: %w", &AuthorityError{Cluster: r.Cluster, Host: r.Host, Shown: shown, Want: authority})
	}
	return r, nil
}

// verifyReceipt returns what was signed, and whose certificate says so.
func verifyReceipt(text []byte) ([]byte, *x509.Certificate, error) {
	end := bytes.Index(text, []byte(receiptEnd))
	if end < 0 {
		return nil, nil, errors.New("it has no signature")
	}
	body := text[:end+1]
	certificate, rest := pem.Decode(text[end+1:])
	if certificate == nil || certificate.Type != "CERTIFICATE" {
		return nil, nil, errors.New("the authority's certificate is missing")
	}
	signature, rest := pem.Decode(rest)
	if signature == nil || signature.Type != signatureBlock {
		return nil, nil, errors.New("it has no signature")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, nil, errors.New("something follows the signature")
	}
	ca, err := x509.ParseCertificate(certificate.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, ok := ca.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, nil, errors.New("the authority's key is no ECDSA P-256 key")
	}
	digest := sha256.Sum256(body)
	if !ecdsa.VerifyASN1(key, digest[:], signature.Bytes) {
		return nil, nil, errors.New("the signature is wrong: it was changed since it was written")
	}
	return body, ca, nil
}
