package main

import (
	"crypto/ecdsa"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/host"
)

// signingKeys are those of whoever builds bundles: one signs the bundle, the
// other its RPM repository and airgap.rpm.
type signingKeys struct {
	bundle *ecdsa.PrivateKey
	rpm    *rpm.Key
}

// checkKeys reports keys in dir that cannot be used, before time is spent on a
// plan. Those that are not there yet will be made.
func checkKeys(dir string) error {
	_, err := bundle.LoadKey(dir)
	if err := host.IgnoreMissing(err); err != nil {
		return err
	}
	_, err = rpm.LoadKey(dir)
	return host.IgnoreMissing(err)
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
