package backup

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
)

const (
	signatureName = "SHA256SUMS.sig"
	publicName    = "backup.pub"
)

// ErrUnsigned is a backup without a signature: from an older airgap, or with a removed
// signature.
var ErrUnsigned = errors.New("it is not signed")

// ErrSigner is a backup that none of the wanted keys has signed.
var ErrSigner = errors.New("none of the wanted keys has signed it")

// Trust has the keys that may sign a backup.
type Trust struct {
	Keys         []*ecdsa.PublicKey
	Fingerprints []string // of keys that come with the backup itself
	Anyone       bool     // the signature is not looked at
}

// sign vouches for a directory by its list of sums. openssl dgst -verify reads the signature.
func sign(dir string, sums []byte, key *ecdsa.PrivateKey) error {
	digest := sha256.Sum256(sums)
	signature, err := key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return err
	}
	public, err := bundle.MarshalPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return errors.Join(
		host.WriteFile(filepath.Join(dir, sumsName), sums, 0o600),
		host.WriteFile(filepath.Join(dir, signatureName), signature, 0o600),
		host.WriteFile(filepath.Join(dir, publicName), public, 0o600))
}

// check returns nil if a wanted key has signed the checksums. public is the key in the backup:
// only its fingerprint counts.
func (t Trust) check(sums, signature, public []byte) error {
	if t.Anyone {
		return nil
	}
	if len(signature) == 0 {
		return ErrUnsigned
	}
	digest, prints := sha256.Sum256(sums), slices.Clone(t.Fingerprints)
	for _, key := range t.Keys {
		if ecdsa.VerifyASN1(key, digest[:], signature) {
			return nil
		}
		if f := bundle.Fingerprint(key); !slices.Contains(prints, f) {
			prints = append(prints, f)
		}
	}
	brought, err := bundle.ParsePublicKey(public)
	if err != nil || !ecdsa.VerifyASN1(brought, digest[:], signature) {
		return fmt.Errorf("%w: %s, and the signature does not fit %s", ErrSigner, orNone(prints), sumsName)
	}
	if f := bundle.Fingerprint(brought); !slices.Contains(t.Fingerprints, f) {
		return fmt.Errorf("%w: it is signed with key %s, want %s", ErrSigner, f, orNone(prints))
	}
	return nil
}

func orNone(prints []string) string { return cmp.Or(strings.Join(prints, " or "), "none") }
