package rpms

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

// Key is an OpenPGP key, RSA with 4096 bits, which rpm of every EL release can verify.
type Key struct{ entity *openpgp.Entity }

// OpenKey reads the private key at path. If the file does not exist, it generates a key for
// owner and saves it there.
func OpenKey(path, owner string) (*Key, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newKey(path, owner)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	keys, err := openpgp.ReadArmoredKeyRing(f)
	if err != nil || len(keys) != 1 {
		return nil, fmt.Errorf("read OpenPGP key %s: %d keys: %w", path, len(keys), err)
	}
	return &Key{keys[0]}, nil
}

func newKey(path, owner string) (*Key, error) {
	entity, err := openpgp.NewEntity(owner, "made for the lab", "lab@airgap.dev", config())
	if err != nil {
		return nil, fmt.Errorf("make an OpenPGP key for %s: %w", owner, err)
	}
	text, err := armored(openpgp.PrivateKeyType, func(w io.Writer) error { return entity.SerializePrivate(w, config()) })
	if err != nil {
		return nil, err
	}
	return &Key{entity}, os.WriteFile(path, text, 0o600)
}

// config makes signatures reproducible: the same bytes and key give the same signature.
func config() *packet.Config {
	random := false
	return &packet.Config{
		Algorithm: packet.PubKeyAlgoRSA, RSABits: 4096, DefaultHash: crypto.SHA256,
		Time: archive.Epoch, NonDeterministicSignaturesViaNotation: &random,
	}
}

// Public returns the ASCII-armoured public key, for `rpm --import`.
func (k *Key) Public() ([]byte, error) {
	return armored(openpgp.PublicKeyType, k.entity.Serialize)
}

// Sign returns a binary detached signature, for the header of a package.
func (k *Key) Sign(data io.Reader) ([]byte, error) {
	var out bytes.Buffer
	err := openpgp.DetachSign(&out, k.entity, data, config())
	return out.Bytes(), err
}

// SignFile writes PATH.asc, an ASCII-armoured detached signature of the file.
func (k *Key) SignFile(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	var out bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&out, k.entity, in, config()); err != nil {
		return fmt.Errorf("sign %s: %w", path, err)
	}
	return os.WriteFile(path+".asc", out.Bytes(), 0o644)
}

func armored(kind string, write func(io.Writer) error) ([]byte, error) {
	var out bytes.Buffer
	w, err := armor.Encode(&out, kind, nil)
	if err != nil {
		return nil, err
	}
	if err := write(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return append(out.Bytes(), '\n'), nil
}
