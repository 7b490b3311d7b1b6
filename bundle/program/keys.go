package program

import (
	"crypto/ecdsa"
	"errors"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

// Keys are the builder's keys: one signs the bundle, the other its RPM repository and
// airgap.rpm.
type Keys struct {
	Bundle *ecdsa.PrivateKey // P-256; nil if Make must create it
	RPM    *rpm.Key          // nil if Make must create it
	Own    bool              // the site keeps Bundle and named it with --sign-key
}

// CheckKeys reads the keys in dir, and reports unusable keys before a plan takes time.
// Make creates the missing keys. The file signKey, "" for none, has a key that signs
// the bundle instead. It is read only once, because it can be a pipe.
func CheckKeys(dir, signKey string) (*Keys, error) {
	if err := checkNamed(dir); err != nil {
		return nil, err
	}
	k := &Keys{Own: signKey != ""}
	var err error
	if k.Own {
		k.Bundle, err = bundle.LoadSigningKey(signKey)
	} else {
		k.Bundle, err = bundle.LoadKey(dir)
		err = host.IgnoreMissing(err)
	}
	if errors.Is(err, bundle.ErrEncryptedKey) {
		return nil, advice.Add(err, "let openssl ask for the passphrase, so that no key is written to disk: airgap bundle --sign-key <(openssl pkey -in FILE) …")
	}
	if err != nil {
		return nil, err
	}
	k.RPM, err = rpm.LoadKey(dir)
	return k, host.IgnoreMissing(err)
}

// Make creates the keys that are missing in dir.
func (k *Keys) Make(dir string) (err error) {
	if k.Bundle == nil {
		if k.Bundle, err = bundle.LoadOrCreateKey(dir); err != nil {
			return err
		}
	}
	if k.RPM == nil {
		k.RPM, err = rpm.LoadOrCreateKey(dir)
	}
	return err
}

// RPMFingerprint is the fingerprint of the RPM key in the format of gpg.
func (k *Keys) RPMFingerprint() string { return k.RPM.Keyring().Fingerprints()[0] }

// RPMShortID is the name of the key in rpm: gpg-pubkey-ID-….
func (k *Keys) RPMShortID() string {
	f := strings.ToLower(k.RPMFingerprint())
	return f[len(f)-8:]
}

// OwnFingerprint is the fingerprint of the site's key, SHA256:…; "" without one.
func (k *Keys) OwnFingerprint() string {
	if !k.Own {
		return ""
	}
	return bundle.Fingerprint(&k.Bundle.PublicKey)
}
