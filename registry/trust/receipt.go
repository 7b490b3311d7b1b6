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

// Receipt lists the contents of a registry host's store, for the host that builds the next bundle.
// Its file is this struct in JSON. Then follow, in PEM, the CA certificate and the signature of the
// CA over everything before them.
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
	receiptEnd     = "\n-----BEGIN "            // a JSON string contains no line break
)

// NewReceipt lists the contents of the bundles, newest first.
func NewReceipt(host string, now time.Time, bundles []*bundle.Bundle) (Receipt, error) {
	if len(bundles) == 0 {
		return Receipt{}, errors.New("write receipt: the store contains no bundle")
	}
	var indexes []*bundle.Index
	for _, b := range bundles {
		indexes = append(indexes, b.Index())
	}
	return Receipt{Version: receiptVersion, Host: host, Time: now.UTC().Truncate(time.Second), Inventory: bundle.NewInventory(indexes...)}, nil
}

// SignReceipt returns the receipt, signed by the registry CA, and the CAHash of that CA. If this
// host does not have the CA's key, the error is fs.ErrNotExist.
func (p PKI) SignReceipt(r Receipt) (text []byte, caHash string, err error) {
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

// ErrReceipt is for errors.Is: the text is not a receipt, is not signed, or was changed after it was
// signed.
var ErrReceipt = errors.New("not an unchanged receipt of a registry host")

// AuthorityError reports that another CA than the expected one signed a receipt.
type AuthorityError struct {
	Cluster, Host string // according to the receipt
	Shown, Want   string // CAHash; Want is "" if the caller has named no CA
}

func (e *AuthorityError) Error() string {
	if e.Want == "" {
		return fmt.Sprintf("the receipt names cluster %s and host %s, and is signed by CA %s, which you have not confirmed", e.Cluster, e.Host, e.Shown)
	}
	return fmt.Sprintf("the receipt of %s is signed by CA %s, expected CA %s", e.Cluster, e.Shown, e.Want)
}

// ReadReceipt reads a receipt and checks that the CA with caHash signed it. The error is ErrReceipt
// for errors.Is, or *AuthorityError.
func ReadReceipt(text []byte, caHash string) (*Receipt, error) {
	body, ca, err := verifyReceipt(text)
	if err != nil {
		return nil, fmt.Errorf("read receipt: %w: %w", ErrReceipt, err)
	}
	r := &Receipt{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, fmt.Errorf("read receipt: %w: %w", ErrReceipt, err)
	}
	if r.Version != receiptVersion {
		return nil, fmt.Errorf("read receipt: it has version %d, this airgap reads version %d: use the airgap version of the servers", r.Version, receiptVersion)
	}
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("read receipt: %w: %w", ErrReceipt, err)
	}
	if shown := CAHash(ca); shown != strings.ToLower(caHash) {
		return nil, fmt.Errorf("read receipt: %w", &AuthorityError{Cluster: r.Cluster, Host: r.Host, Shown: shown, Want: caHash})
	}
	return r, nil
}

// verifyReceipt returns the signed text and the certificate of the CA that signed it.
func verifyReceipt(text []byte) ([]byte, *x509.Certificate, error) {
	end := bytes.Index(text, []byte(receiptEnd))
	if end < 0 {
		return nil, nil, errors.New("it has no signature")
	}
	body := text[:end+1]
	certificate, rest := pem.Decode(text[end+1:])
	if certificate == nil || certificate.Type != "CERTIFICATE" {
		return nil, nil, errors.New("the CA's certificate is missing")
	}
	signature, rest := pem.Decode(rest)
	if signature == nil || signature.Type != signatureBlock {
		return nil, nil, errors.New("it has no signature")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, nil, errors.New("there is text after the signature")
	}
	ca, err := x509.ParseCertificate(certificate.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, ok := ca.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, nil, errors.New("the CA's key is not an ECDSA P-256 key")
	}
	digest := sha256.Sum256(body)
	if !ecdsa.VerifyASN1(key, digest[:], signature.Bytes) {
		return nil, nil, errors.New("the signature is wrong: the text was changed after it was signed")
	}
	return body, ca, nil
}
