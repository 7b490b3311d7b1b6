package main

import (
	"crypto/ecdsa"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
)

// signingKeys are those of whoever builds bundles: one signs the bundle, the
// other its RPM repository and airgap.rpm.
type signingKeys struct {
	bundle *ecdsa.PrivateKey
	rpm    *rpm.Key
}

// openKeys reads the keys in dir; the first bundle makes them.
func openKeys(dir string) (*signingKeys, error) {
	b, err := bundle.LoadOrCreateKey(dir)
	if err != nil {
		return nil, err
	}
	r, err := rpm.LoadOrCreateKey(dir)
	if err != nil {
		return nil, err
	}
	return &signingKeys{bundle: b, rpm: r}, nil
}

// rpmFingerprint is the RPM key's, as gpg prints it.
func (k *signingKeys) rpmFingerprint() string { return k.rpm.Keyring().Fingerprints()[0] }
