package main

import (
	"crypto/ecdsa"
	"errors"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

// signingKeys are those of whoever builds bundles: one signs the bundle, the
// other its RPM repository and airgap.rpm.
type signingKeys struct {
	bundle *ecdsa.PrivateKey
	rpm    *rpm.Key
	own    bool // the bundle's is one that the site keeps itself, by --sign-key
}

// checkKeys reports keys that cannot be used, before time is spent on a plan.
// Those that are not in dir yet will be made. A key in a file of its own is read
// here and kept: the file may be a pipe.
func checkKeys(dir, signKey string) (*signingKeys, error) {
	k := &signingKeys{own: signKey != ""}
	var err error
	if k.own {
		k.bundle, err = bundle.LoadSigningKey(signKey)
	} else {
		k.bundle, err = bundle.LoadKey(dir)
		err = host.IgnoreMissing(err)
	}
	if errors.Is(err, bundle.ErrEncryptedKey) {
		return nil, advice.Add(err, "let openssl ask for the passphrase; nothing is written to the disk: airgap bundle --sign-key <(openssl pkey -in FILE) …")
	}
	if err != nil {
		return nil, err
	}
	k.rpm, err = rpm.LoadKey(dir)
	return k, host.IgnoreMissing(err)
}

// make makes the keys in dir that were not there.
func (k *signingKeys) make(dir string) (err error) {
	if k.bundle == nil {
		if k.bundle, err = bundle.LoadOrCreateKey(dir); err != nil {
			return err
		}
	}
	if k.rpm == nil {
		k.rpm, err = rpm.LoadOrCreateKey(dir)
	}
	return err
}

// rpmFingerprint is the RPM key's, as gpg prints it.
func (k *signingKeys) rpmFingerprint() string { return k.rpm.Keyring().Fingerprints()[0] }

// rpmShortID is what rpm calls the key: gpg-pubkey-ID-….
func (k *signingKeys) rpmShortID() string {
	f := strings.ToLower(k.rpmFingerprint())
	return f[len(f)-8:]
}

// ownFingerprint is that of the site's own key; "" without one.
func (k *signingKeys) ownFingerprint() string {
	if !k.own {
		return ""
	}
	return bundle.Fingerprint(&k.bundle.PublicKey)
}
