package bundle

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"airgap.dev/airgap/internal/host"
)

// privateKeyName is the private key in the directory of LoadOrCreateKey.
const privateKeyName = "airgap.key"

// LoadOrCreateKey reads the key that signs bundles from dir, or creates it there:
// airgap.key (PKCS#8 PEM, mode 0600), and the public key as airgap.pub and under the name
// of PublicKeyFile. It refuses a private key that other users can read.
func LoadOrCreateKey(dir string) (*ecdsa.PrivateKey, error) {
	key, err := LoadKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return createKey(dir)
	}
	return key, err
}

// LoadKey is LoadOrCreateKey without creation; a missing key is fs.ErrNotExist for
// errors.Is.
func LoadKey(dir string) (*ecdsa.PrivateKey, error) {
	return LoadSigningKey(filepath.Join(dir, privateKeyName))
}

// ErrEncryptedKey is the error of LoadSigningKey for a key with a passphrase.
var ErrEncryptedKey = errors.New("the key is encrypted")

// LoadSigningKey reads an ECDSA private key (P-256 or P-384), PEM of PKCS#8 or SEC1, as
// openssl writes it. It reads the file once, which can be a pipe. It refuses a file that
// other users can read.
func LoadSigningKey(path string) (*ecdsa.PrivateKey, error) {
	text, err := host.ReadPrivate(path)
	if err == nil {
		var key *ecdsa.PrivateKey
		if key, err = parseSigningKey(text); err == nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("load signing key %s: %w", path, err)
}

func parseSigningKey(text []byte) (*ecdsa.PrivateKey, error) {
	block, rest := pem.Decode(text)
	for block != nil && block.Type == "EC PARAMETERS" { // openssl ecparam -genkey writes this block first
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return nil, errors.New("no PEM block")
	}
	if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
		return nil, ErrEncryptedKey
	}
	parsed, err := parsePrivate(block)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !isSupported(key.Curve) {
		return nil, fmt.Errorf("want an ECDSA P-256 or P-384 key, got %s", kindOfKey(parsed))
	}
	return key, nil
}

// isSupported reports whether bundles may be signed on the curve. openssl verifies both
// with the SHA-256 of SHA256SUMS.
func isSupported(curve elliptic.Curve) bool {
	return curve == elliptic.P256() || curve == elliptic.P384()
}

func parsePrivate(block *pem.Block) (any, error) {
	switch block.Type {
	case "PRIVATE KEY":
		return x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	case "PUBLIC KEY":
		return nil, errors.New("this is a public key: signing requires the private key")
	default:
		return nil, fmt.Errorf("the PEM block is %q: want PRIVATE KEY (PKCS#8) or EC PRIVATE KEY (SEC1)", block.Type)
	}
}

// createKey writes the private key last, because LoadKey checks for it. A run that was
// killed before creates both again.
func createKey(dir string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("create signing key: %w", err)
	}
	public, err := MarshalPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{PublicKeyName, PublicKeyFile(&key.PublicKey)} {
		if err := host.WriteFile(filepath.Join(dir, name), public, 0o644); err != nil {
			return nil, err
		}
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return key, host.WriteFile(filepath.Join(dir, privateKeyName), private, 0o600)
}

// sign returns the raw DER signature of the SHA-256 of data. Without a random source
// ECDSA is deterministic (RFC 6979): the same bundle gives the same signature. Only the
// keys of most HSMs use their own random source.
func sign(key crypto.Signer, data []byte) ([]byte, error) {
	digest := sha256.Sum256(data)
	return key.Sign(nil, digest[:], crypto.SHA256)
}

// PublicOf returns the public key of a signer of bundles; nil if it is no ECDSA key.
func PublicOf(key crypto.Signer) *ecdsa.PublicKey {
	public, _ := key.Public().(*ecdsa.PublicKey)
	return public
}
