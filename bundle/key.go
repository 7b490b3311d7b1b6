package bundle

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// Names of the signing key's two halves in the directory of LoadOrCreateKey.
const privateKeyName = "airgap.key"

// LoadOrCreateKey reads the key that signs bundles from dir, or makes one
// there: airgap.key (PKCS#8 PEM, mode 0600) and airgap.pub (PEM). A private
// key that others on the machine can read is refused.
func LoadOrCreateKey(dir string) (*ecdsa.PrivateKey, error) {
	key, err := LoadKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return createKey(dir)
	}
	return key, err
}

// LoadKey is LoadOrCreateKey for a key that is there; else the error is
// fs.ErrNotExist for errors.Is.
func LoadKey(dir string) (*ecdsa.PrivateKey, error) {
	path := filepath.Join(dir, privateKeyName)
	key, err := loadKey(path)
	if err != nil {
		return nil, fmt.Errorf("load signing key %s: %w", path, err)
	}
	return key, nil
}

func loadKey(path string) (*ecdsa.PrivateKey, error) {
	text, err := host.ReadPrivate(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no PEM block in it")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("want an ECDSA P-256 key, got %T", parsed)
	}
	return key, nil
}

func createKey(dir string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("create signing key: %w", err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := host.WriteFile(filepath.Join(dir, privateKeyName), private, 0o600); err != nil {
		return nil, err
	}
	public, err := MarshalPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	return key, host.WriteFile(filepath.Join(dir, PublicKeyName), public, 0o644)
}

// MarshalPublicKey writes PEM as openssl reads it.
func MarshalPublicKey(key *ecdsa.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// LoadPublicKey reads PEM from path. The airgap.pub of a stick is only as
// trustworthy as the stick: compare its Fingerprint before using it.
func LoadPublicKey(path string) (*ecdsa.PublicKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load public key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("load public key %s: no PEM block in it", path)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("load public key %s: %w", path, err)
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("load public key %s: want ECDSA P-256, got %T", path, parsed)
	}
	return key, nil
}

// Fingerprint is the SHA-256 of the key's DER form, as people compare it:
// "SHA256:" and 64 hex digits.
func Fingerprint(key *ecdsa.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "SHA256:?" // a key of no known curve; none of ours
	}
	sum := sha256.Sum256(der)
	return "SHA256:" + hex.EncodeToString(sum[:])
}

// sign gives the raw DER signature over the SHA-256 of data. Without a random
// source ECDSA is deterministic (RFC 6979): same bundle, same signature.
func sign(key *ecdsa.PrivateKey, data []byte) ([]byte, error) {
	digest := sha256.Sum256(data)
	return key.Sign(nil, digest[:], crypto.SHA256)
}

// verifySignature accepts the signature of any of the trusted keys.
func verifySignature(data, signature []byte, trusted []*ecdsa.PublicKey) error {
	digest := sha256.Sum256(data)
	var prints []string
	for _, key := range trusted {
		if ecdsa.VerifyASN1(key, digest[:], signature) {
			return nil
		}
		prints = append(prints, Fingerprint(key))
	}
	return fmt.Errorf("%w (trusted: %s)", ErrSignature, strings.Join(prints, ", "))
}
