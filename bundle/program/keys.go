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

// Keys are those of the builder: one signs the bundle, the other its RPM repository and airgap.rpm.
type Keys struct {
	Bundle *ecdsa.PrivateKey // P-256; nil where Make has to make it
	RPM    *rpm.Key          // the same
	Own    bool              // the site keeps Bundle itself, and named it by --sign-key
}

// CheckKeys reads the keys in dir, and reports those that cannot be used before time is spent on a
// plan. Make makes those that are not in dir yet. The file signKey, "" for none, has the key that signs
// the bundle instead; it is read once, for it may be a pipe.
func CheckKeys(dir, signKey string) (*Keys, error) {
	k := &Keys{Own: signKey != ""}
	var err error
	if k.Own {
		k.Bundle, err = bundle.LoadSigningKey(signKey)
	} else {
		k.Bundle, err = bundle.LoadKey(dir)
		err = host.IgnoreMissing(err)
	}
	if errors.Is(err, bundle.ErrEncryptedKey) {
		return nil, advice.Add(err, "let openssl ask for the passphrase; nothing is written to the disk: airgap bundle --sign-key <(openssl pkey -in FILE) …")
	}
	if err != nil {
		return nil, err
	}
	k.RPM, err = rpm.LoadKey(dir)
	return k, host.IgnoreMissing(err)
}

// Make makes the keys that are not in dir yet.
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

// RPMFingerprint is the RPM key's, as gpg prints it.
func (k *Keys) RPMFingerprint() string { return k.RPM.Keyring().Fingerprints()[0] }

// RPMShortID is what rpm calls the key: gpg-pubkey-ID-….
func (k *Keys) RPMShortID() string {
	f := strings.ToLower(k.RPMFingerprint())
	return f[len(f)-8:]
}

// OwnFingerprint is that of the key that the site keeps, SHA256:…; "" without one.
func (k *Keys) OwnFingerprint() string {
	if !k.Own {
		return ""
	}
	return bundle.Fingerprint(&k.Bundle.PublicKey)
}
