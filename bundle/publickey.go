package bundle

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// MarshalPublicKey writes PEM as openssl reads it.
func MarshalPublicKey(key *ecdsa.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// maxKey, in bytes, is far more than a key takes.
const maxKey = 64 << 10

// LoadPublicKey reads one ECDSA P-256 public key (PEM) from path. The
// airgap.pub of a stick is only as trustworthy as the stick: compare its
// Fingerprint before using it.
func LoadPublicKey(path string) (*ecdsa.PublicKey, error) {
	key, err := loadPublicKey(path)
	if err != nil {
		return nil, fmt.Errorf("load public key %s: %w", path, err)
	}
	return key, nil
}

func loadPublicKey(path string) (*ecdsa.PublicKey, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKey {
		return nil, errors.New("too large for a key")
	}
	return parsePublicKey(text)
}

func parsePublicKey(text []byte) (*ecdsa.PublicKey, error) {
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return nil, errors.New("no PEM block in it")
	case strings.Contains(block.Type, "PRIVATE KEY") || block.Type == "EC PARAMETERS":
		return nil, errors.New("it is a private key, which stays with whoever signs: openssl pkey -in FILE -pubout writes its public half")
	case block.Type == "CERTIFICATE":
		return nil, errors.New("it is a certificate: openssl x509 -in FILE -pubkey -noout writes its key")
	case block.Type != "PUBLIC KEY":
		return nil, fmt.Errorf("it holds %q: want PUBLIC KEY", block.Type)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("something follows the key: want one key a file")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("want an ECDSA P-256 key, got %s", kindOfKey(parsed))
	}
	return key, nil
}

// kindOfKey names a key that is not wanted, for people.
func kindOfKey(key any) string {
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		return "ECDSA " + k.Curve.Params().Name
	case *ecdsa.PublicKey:
		return "ECDSA " + k.Curve.Params().Name
	case *rsa.PrivateKey, *rsa.PublicKey:
		return "RSA"
	case ed25519.PrivateKey, ed25519.PublicKey:
		return "Ed25519"
	default:
		return fmt.Sprintf("%T", key)
	}
}

const fingerprintPrefix = "SHA256:"

// Fingerprint is the SHA-256 of the key's DER form, as people compare it:
// "SHA256:" and 64 hex digits.
func Fingerprint(key *ecdsa.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return fingerprintPrefix + "?" // a key of no known curve; none of ours
	}
	sum := sha256.Sum256(der)
	return fingerprintPrefix + hex.EncodeToString(sum[:])
}

// ParseFingerprint reads what Fingerprint writes, in letters of any case. is
// tells a text that is meant to be one from others, such as a file's name.
func ParseFingerprint(text string) (fingerprint string, is bool, err error) {
	if len(text) < len(fingerprintPrefix) || !strings.EqualFold(text[:len(fingerprintPrefix)], fingerprintPrefix) {
		return "", false, nil
	}
	sum, err := hex.DecodeString(text[len(fingerprintPrefix):])
	if err != nil || len(sum) != sha256.Size {
		return "", true, fmt.Errorf("read fingerprint %q: want %s and 64 hexadecimal digits", text, fingerprintPrefix)
	}
	return fingerprintPrefix + hex.EncodeToString(sum), true, nil
}

// ParsePublicKey is LoadPublicKey for a text that was read already.
func ParsePublicKey(text []byte) (*ecdsa.PublicKey, error) { return parsePublicKey(text) }
