package bundle

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
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

// MarshalPublicKey encodes the key as PEM for openssl.
func MarshalPublicKey(key *ecdsa.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// maxKey, in bytes, is far above the size of a key.
const maxKey = 64 << 10

// LoadPublicKey reads one ECDSA public key (PEM, P-256 or P-384) from path. The airgap.pub of a
// USB drive is only as trustworthy as the drive: compare its Fingerprint before you use
// it.
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
		return nil, errors.New("the file is too large for a key")
	}
	return parsePublicKey(text)
}

func parsePublicKey(text []byte) (*ecdsa.PublicKey, error) {
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return nil, errors.New("no PEM block")
	case strings.Contains(block.Type, "PRIVATE KEY") || block.Type == "EC PARAMETERS":
		return nil, errors.New("this is a private key, which stays with its owner: write its public key with openssl pkey -in FILE -pubout")
	case block.Type == "CERTIFICATE":
		return nil, errors.New("this is a certificate: write its public key with openssl x509 -in FILE -pubkey -noout")
	case block.Type != "PUBLIC KEY":
		return nil, fmt.Errorf("the PEM block is %q: want PUBLIC KEY", block.Type)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("the file has data after the key: want one key per file")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok || !isSupported(key.Curve) {
		return nil, fmt.Errorf("want an ECDSA P-256 or P-384 key, got %s", kindOfKey(parsed))
	}
	return key, nil
}

// kindOfKey is the display name of an unsupported key.
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

// Fingerprint is the SHA-256 of the key in DER form, for comparison: "SHA256:" and 64
// hex digits.
func Fingerprint(key *ecdsa.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return fingerprintPrefix + "?" // a key with an unknown curve; airgap creates none
	}
	sum := sha256.Sum256(der)
	return fingerprintPrefix + hex.EncodeToString(sum[:])
}

// PublicKeyFile is the name of the file with a public key among other public keys:
// "airgap-" and the first 16 digits of its fingerprint. Keys of several builders have
// different names.
func PublicKeyFile(key *ecdsa.PublicKey) string {
	return fmt.Sprintf("airgap-%.16s.pub", strings.TrimPrefix(Fingerprint(key), fingerprintPrefix))
}

// ParseFingerprint reads the format of Fingerprint, in upper or lower case. is reports
// whether the text looks like a fingerprint and not, for example, like a file name.
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

// ParsePublicKey is LoadPublicKey for a text in memory.
func ParsePublicKey(text []byte) (*ecdsa.PublicKey, error) { return parsePublicKey(text) }
