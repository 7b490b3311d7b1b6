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

// Files in a directory of keys.
const (
	PrivateKeyFile = "rpm-signing.key"
	PublicKeyFile  = "RPM-GPG-KEY-airgap"
)

// Key signs airgap's repository metadata and its own package: OpenPGP version 4,
// RSA-4096 with SHA-256, because rpm of EL8 does not support ECDSA.
type Key struct {
	entity *openpgp.Entity
	remote *remote // nil if the private key is here
}

// NewKey generates a key with the given creation time. It takes some seconds.
func NewKey(created time.Time) (*Key, error) {
	config := signing(created)
	config.Algorithm, config.RSABits = packet.PubKeyAlgoRSA, 4096
	entity, err := openpgp.NewEntity(userID, "", "", config)
	if err != nil {
		return nil, fmt.Errorf("create signing key: %w", err)
	}
	return &Key{entity: entity}, nil
}

// signing omits the random notation, so that the same input gives the same signature.
func signing(at time.Time) *packet.Config {
	deterministic := false
	return &packet.Config{
		DefaultHash:                           crypto.SHA256,
		Time:                                  func() time.Time { return at },
		NonDeterministicSignaturesViaNotation: &deterministic,
	}
}

// LoadOrCreateKey reads the key in dir, or creates one: the private key with mode
// 0600, and the public key next to it, also under a name with its key ID. It refuses a
// private key that other users can read.
func LoadOrCreateKey(dir string) (*Key, error) {
	key, err := LoadKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return createKey(dir)
	}
	return key, err
}

// LoadKey reads the key in dir. If there is none, errors.Is matches the error with
// fs.ErrNotExist.
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
	for _, name := range []string{PublicKeyFile, PublicKeyFile + "-" + k.Keyring().Fingerprints()[0][24:]} {
		if err := host.WriteFile(filepath.Join(dir, name), public, 0o644); err != nil {
			return err
		}
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
	return &Key{entity: entities[0]}, nil
}

// Private returns the armored private key.
func (k *Key) Private() ([]byte, error) {
	return armored(openpgp.PrivateKeyType, func(w io.Writer) error {
		return k.entity.SerializePrivateWithoutSigning(w, nil)
	})
}

// Public returns the armored public key for `rpm --import`.
func (k *Key) Public() ([]byte, error) {
	return armored(openpgp.PublicKeyType, k.entity.Serialize)
}

// Keyring returns a keyring with the public key.
func (k *Key) Keyring() Keyring { return Keyring{entities: openpgp.EntityList{k.entity}} }

// DetachSign returns a binary signature of the contents of r. The same content,
// key and time give the same bytes. No signature is older than its key.
func (k *Key) DetachSign(r io.Reader, at time.Time) ([]byte, error) {
	if created := k.entity.PrimaryKey.CreationTime; at.Before(created) {
		at = created
	}
	var buf bytes.Buffer
	if err := k.remote.cause(openpgp.DetachSign(&buf, k.entity, r, signing(at))); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return buf.Bytes(), nil
}

// ArmoredSign is DetachSign with an armored signature, for repomd.xml.asc.
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
