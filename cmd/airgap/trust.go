package main

import (
	"crypto/ecdsa"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/registry"
)

// keyFlags lets a command be told which keys to trust.
func keyFlags(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVar(files, "key", nil, "public key (PEM) that the bundle must be signed with; default: those that airgap.rpm brought to "+trustDir+", else this user's own")
}

// trustedKeys are the keys a bundle must be signed with: the named files, else
// those that airgap.rpm installed, else the one this user signs with.
func trustedKeys(files []string) ([]*ecdsa.PublicKey, error) {
	if len(files) == 0 {
		files, _ = filepath.Glob(filepath.Join(trustDir, "*.pub"))
	}
	if len(files) == 0 {
		if own := filepath.Join(defaultKeyDir(), bundle.PublicKeyName); exists(own) {
			files = []string{own}
		}
	}
	if len(files) == 0 {
		return nil, hint(errors.New("no key to check the bundle's signature with"),
			"install airgap.rpm as INSTALL.txt says, or name the key of whoever built the bundle: --key FILE")
	}
	keys := make([]*ecdsa.PublicKey, len(files))
	for i, f := range files {
		key, err := bundle.LoadPublicKey(f)
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}

// openBundle opens a bundle and says what to do about the usual troubles.
func openBundle(dir string, keyFiles []string) (*bundle.Bundle, []*ecdsa.PublicKey, error) {
	keys, err := trustedKeys(keyFiles)
	if err != nil {
		return nil, nil, err
	}
	b, err := bundle.Open(dir, keys...)
	switch {
	case errors.Is(err, bundle.ErrDamaged):
		err = hint(err, "copy the bundle onto the stick again, and run sha256sum -c SHA256SUMS there")
	case errors.Is(err, bundle.ErrNoBundle):
		err = hint(err, "name the directory that holds bundle.json")
	default:
		err = untrusted(err, keys)
	}
	return b, keys, err
}

// openWhole is openBundle with what a delta leaves out, from this host's store.
func openWhole(dir string, keyFiles []string) (*bundle.View, []*ecdsa.PublicKey, error) {
	b, keys, err := openBundle(dir, keyFiles)
	if err != nil {
		return nil, keys, err
	}
	v, err := registry.Store{Dir: storeDir}.View(b, keys...)
	if err != nil {
		return nil, keys, errors.Join(err, b.Close())
	}
	return v, keys, nil
}

// untrusted says what to do about a signature that is not by one of the keys.
func untrusted(err error, keys []*ecdsa.PublicKey) error {
	if errors.Is(err, bundle.ErrSignature) || errors.Is(err, bundle.ErrUnsigned) {
		return hint(err, "trusted here: %s; do not use this bundle unless its builder vouches for another key", fingerprints(keys))
	}
	return err
}

func fingerprints(keys []*ecdsa.PublicKey) string {
	var prints []string
	for _, k := range keys {
		prints = append(prints, bundle.Fingerprint(k))
	}
	return strings.Join(prints, ", ")
}

// defaultKeyDir is where the connected host keeps its signing keys.
func defaultKeyDir() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		dir = "."
	}
	return filepath.Join(dir, "airgap", "keys")
}
