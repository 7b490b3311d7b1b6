package main

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
)

// keyFlags lets a command be told which keys a bundle must be signed with.
func keyFlags(cmd *cobra.Command, values *[]string) {
	cmd.Flags().StringArrayVar(values, "require-key", nil, "the bundle must be signed with exactly this key: a public key (PEM), or its fingerprint, SHA256:…; given more than once, with one of them. Default: what install or join wrote down here when they had this flag, else the keys that airgap.rpm brought to "+trustDir+", else this user's own")
}

// trust is which keys a bundle must be signed with.
type trust struct {
	required []string // fingerprints, by --require-key, now or earlier; none where it was never given
	keys     []*ecdsa.PublicKey
}

// trustedKeys decides it for this host: the values of --require-key, else what is
// written down, else the keys that airgap.rpm installed, else the one this user
// signs with. What is required is a fingerprint; the key that has it may come
// with the very bundle: in dirs, that of the bundle first.
func trustedKeys(values []string, dirs ...string) (*trust, error) {
	required, keys, err := requiredKeys(values)
	if err == nil && len(values) == 0 {
		required, err = recordedKeys(requiredFile)
	}
	if err != nil {
		return nil, err
	}
	if len(required) > 0 {
		return pickKeys(required, append(keys, keysBeside(dirs)...), dirs)
	}
	if keys, err = defaultKeys(); err != nil {
		return nil, err
	}
	return &trust{keys: keys}, nil
}

// defaultKeys are those that count where none was required.
func defaultKeys() ([]*ecdsa.PublicKey, error) {
	files, _ := filepath.Glob(filepath.Join(trustDir, "*.pub"))
	if len(files) == 0 {
		if own := filepath.Join(defaultKeyDir(), bundle.PublicKeyName); exists(own) {
			files = []string{own}
		}
	}
	if len(files) == 0 {
		return nil, advice.Add(errors.New("no key to check the bundle's signature with"),
			"install airgap.rpm as INSTALL.txt says, or name the key of whoever built the bundle: --require-key FILE")
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

// keysBeside are the public keys that lie about: beside the bundles in dirs, and
// where airgap.rpm puts them. They count by their fingerprint only, so one that
// cannot be read is none.
func keysBeside(dirs []string) []*ecdsa.PublicKey {
	files, _ := filepath.Glob(filepath.Join(trustDir, "*.pub"))
	var keys []*ecdsa.PublicKey
	for _, file := range files {
		if key, err := bundle.LoadPublicKey(file); err == nil {
			keys = append(keys, key)
		}
	}
	for _, dir := range dirs {
		if key, err := bundle.PublicKeyIn(dir); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// pickKeys takes the keys that have the required fingerprints. The first of dirs is
// for the error, which says what key is there instead.
func pickKeys(required []string, from []*ecdsa.PublicKey, dirs []string) (*trust, error) {
	t := &trust{required: required}
	for _, key := range from {
		again := slices.ContainsFunc(t.keys, func(k *ecdsa.PublicKey) bool { return k.Equal(key) })
		if !again && slices.Contains(required, bundle.Fingerprint(key)) {
			t.keys = append(t.keys, key)
		}
	}
	if len(t.keys) > 0 {
		return t, nil
	}
	said := []string{"the bundle must be signed with key " + strings.Join(required, " or ")}
	if len(dirs) > 0 {
		if key, err := bundle.PublicKeyIn(dirs[0]); err == nil {
			said = append(said, fmt.Sprintf("the one in %s brings key %s", dirs[0], bundle.Fingerprint(key)))
		}
	}
	return nil, t.distrust(errors.New(strings.Join(said, "; ")))
}

// storedBundles are the directories of a store's bundles.
func storedBundles(dir string) []string {
	names, _ := registry.Store{Dir: dir}.List() // whoever opens the store hears of an error
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names
}

// openBundle opens a bundle and says what to do about the usual troubles.
func openBundle(dir string, values []string) (*bundle.Bundle, *trust, error) {
	t, err := trustedKeys(values, append([]string{dir}, storedBundles(storeDir)...)...)
	if err != nil {
		return nil, nil, err
	}
	b, err := bundle.Open(dir, t.keys...)
	switch {
	case errors.Is(err, bundle.ErrDamaged):
		err = advice.Add(err, "copy the bundle onto the stick again, and run sha256sum -c SHA256SUMS there")
	case errors.Is(err, bundle.ErrNoBundle):
		err = advice.Add(err, "name the directory that holds bundle.json")
	default:
		err = t.explain(err)
	}
	return b, t, err
}

// openWhole is openBundle with what a delta leaves out, from this host's store.
func openWhole(dir string, values []string) (*bundle.View, *trust, error) {
	b, t, err := openBundle(dir, values)
	if err != nil {
		return nil, t, err
	}
	v, err := registry.Store{Dir: storeDir}.View(b, t.keys...)
	if err != nil {
		return nil, t, errors.Join(err, b.Close())
	}
	return v, t, nil
}

// explain says what to do about a signature that is not by one of the keys.
func (t *trust) explain(err error) error {
	if errors.Is(err, bundle.ErrSignature) || errors.Is(err, bundle.ErrUnsigned) {
		return t.distrust(err)
	}
	return err
}

func (t *trust) distrust(err error) error {
	if len(t.required) > 0 {
		return advice.Add(err, "required by --require-key, now or when this host was installed (%s): %s; do not use this bundle unless somebody you trust vouches for another key, and name that with --require-key", requiredFile, strings.Join(t.required, ", "))
	}
	return advice.Add(err, "trusted here: %s; do not use this bundle unless its builder vouches for another key", fingerprints(t.keys))
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
