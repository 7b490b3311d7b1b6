package rpm

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"airgap.dev/airgap/internal/host"
)

// What a directory of keys holds.
const (
	PrivateKeyFile = "rpm-signing.key"
	PublicKeyFile  = "RPM-GPG-KEY-airgap"
)

// Key signs our repository metadata and our own package: OpenPGP version 4,
// RSA-4096 with SHA-256, since EL8's rpm knows no ECDSA.
type Key struct{ entity *openpgp.Entity }

// NewKey makes a key, created at the given time, which takes seconds.
func NewKey(created time.Time) (*Key, error) {
	config := signing(created)
	config.Algorithm, config.RSABits = packet.PubKeyAlgoRSA, 4096
	entity, err := openpgp.NewEntity("airgap bundle signing", "", "", config)
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	return &Key{entity}, nil
}

// signing leaves out the random notation: same input, same signature.
func signing(at time.Time) *packet.Config {
	deterministic := false
	return &packet.Config{
		DefaultHash:                           crypto.SHA256,
		Time:                                  func() time.Time { return at },
		NonDeterministicSignaturesViaNotation: &deterministic,
	}
}

// LoadOrCreateKey reads the key in dir or makes one there: the private half
// mode 0600, the public half beside it. A private key that others on the
// machine can read is refused.
func LoadOrCreateKey(dir string) (*Key, error) {
	key, err := LoadKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return createKey(dir)
	}
	return key, err
}

// LoadKey is LoadOrCreateKey for a key that is there; else the error is
// fs.ErrNotExist for errors.Is.
func LoadKey(dir string) (*Key, error) {
	path := filepath.Join(dir, PrivateKeyFile)
	data, err := host.ReadPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("load RPM signing key %s: %w", path, err)
	}
	return ReadKey(data)
}

func createKey(dir string) (*Key, error) {
	key, err := NewKey(time.Now().Truncate(time.Second))
	if err != nil {
		return nil, err
	}
	return key, key.save(dir)
}

func (k *Key) save(dir string) error {
	private, err := k.Private()
	if err != nil {
		return err
	}
	public, err := k.Public()
	if err != nil {
		return err
	}
	if err := host.WriteFile(filepath.Join(dir, PublicKeyFile), public, 0o644); err != nil {
		return err
	}
	return host.WriteFile(filepath.Join(dir, PrivateKeyFile), private, 0o600)
}

// ReadKey reads an armored private key without a passphrase.
func ReadKey(data []byte) (*Key, error) {
	entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	if len(entities) != 1 || entities[0].PrivateKey == nil || entities[0].PrivateKey.Encrypted {
		return nil, errors.New("read signing key: expected one private key without a passphrase")
	}
	return &Key{entities[0]}, nil
}

// Private is the armored private key.
func (k *Key) Private() ([]byte, error) {
	return armored(openpgp.PrivateKeyType, func(w io.Writer) error {
		return k.entity.SerializePrivateWithoutSigning(w, nil)
	})
}

// Public is the armored public key, as `rpm --import` takes it.
func (k *Key) Public() ([]byte, error) {
	return armored(openpgp.PublicKeyType, k.entity.Serialize)
}

// Keyring holds the public key.
func (k *Key) Keyring() Keyring { return Keyring{entities: openpgp.EntityList{k.entity}} }

// DetachSign signs what r holds; the signature is binary. The same content,
// key and time give the same bytes. No signature is older than its key.
func (k *Key) DetachSign(r io.Reader, at time.Time) ([]byte, error) {
	if created := k.entity.PrimaryKey.CreationTime; at.Before(created) {
		at = created
	}
	var buf bytes.Buffer
	if err := openpgp.DetachSign(&buf, k.entity, r, signing(at)); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return buf.Bytes(), nil
}

// ArmoredSign is DetachSign in armor, as repomd.xml.asc wants it.
func (k *Key) ArmoredSign(r io.Reader, at time.Time) ([]byte, error) {
	signature, err := k.DetachSign(r, at)
	if err != nil {
		return nil, err
	}
	return armored(openpgp.SignatureType, func(w io.Writer) error {
		_, err := w.Write(signature)
		return err
	})
}
