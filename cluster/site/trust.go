package site

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
)

// Trust has the keys that airgap accepts for the signature of a bundle.
type Trust struct {
	// Required has the fingerprints from --require-key and the number from --require-keys, now or earlier; empty if
	// they were never given.
	Required []string
	Keys     []*ecdsa.PublicKey
}

// TrustedKeys returns the trusted keys of this host. The first of these that exists applies: the values of
// --require-key, the fingerprints in RequiredFile, the keys from airgap.rpm with the kept ones, the signing keys of
// this user. A required fingerprint is sufficient, because the bundle can contain the public key. dirs are the
// directories of bundles to search for it. The first is the bundle to open. A number of keys among the values only
// raises the recorded one.
func TrustedKeys(values []string, dirs ...string) (*Trust, error) {
	required, keys, err := requiredKeys(values)
	if err != nil {
		return nil, err
	}
	fingerprints, count, err := SplitKeys(required)
	if err != nil {
		return nil, err
	}
	recorded, err := RecordedKeys(RequiredFile)
	if err != nil && len(fingerprints) == 0 { // otherwise airgap install and airgap join rewrite the file
		return nil, err
	}
	before, least, err := SplitKeys(recorded)
	if err != nil {
		return nil, err
	}
	if count = max(count, least); len(fingerprints) == 0 {
		fingerprints = before
	}
	if len(fingerprints) > 0 {
		return pickKeys(fingerprints, count, append(keys, keysBeside(dirs)...), dirs)
	}
	if keys, err = defaultKeys(); err != nil {
		return nil, err
	}
	return &Trust{Required: join(nil, count), Keys: keys}, nil
}

// defaultKeys returns the trusted keys if no key is required.
func defaultKeys() ([]*ecdsa.PublicKey, error) {
	files := keyFiles(TrustDir, KeptKeysDir)
	if len(files) == 0 {
		files = keyFiles(DefaultKeyDir())
	}
	if len(files) == 0 {
		return nil, advice.Add(errors.New("no key to check the bundle's signature with"),
			"install airgap.rpm as described in INSTALL.txt, or give the public key of the bundle's builder: --require-key FILE")
	}
	var keys []*ecdsa.PublicKey
	for _, f := range files {
		key, err := bundle.LoadPublicKey(f)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(keys, func(k *ecdsa.PublicKey) bool { return k.Equal(key) }) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// keyFiles returns the files of public keys in directories that may not exist.
func keyFiles(dirs ...string) (files []string) {
	for _, dir := range dirs {
		if dir == "" { // without HOME; the working directory is not meant
			continue
		}
		some, _ := filepath.Glob(filepath.Join(dir, "*.pub"))
		files = append(files, some...)
	}
	return files
}

// keysBeside returns the public keys in TrustDir and KeptKeysDir, and next to the bundles in dirs. The caller trusts only keys
// with a required fingerprint. A key that cannot be read is therefore ignored.
func keysBeside(dirs []string) []*ecdsa.PublicKey {
	var keys []*ecdsa.PublicKey
	for _, file := range keyFiles(TrustDir, KeptKeysDir) {
		if key, err := bundle.LoadPublicKey(file); err == nil {
			keys = append(keys, key)
		}
	}
	for _, dir := range dirs {
		keys = append(keys, bundle.PublicKeysIn(dir)...)
	}
	return keys
}

// pickKeys returns the keys with a required fingerprint. If there is none, the error contains the fingerprint of
// the key in the first of dirs.
func pickKeys(required []string, count int, from []*ecdsa.PublicKey, dirs []string) (*Trust, error) {
	t := &Trust{Required: join(required, count)}
	t.learn(from)
	if len(t.Keys) > 0 {
		return t, nil
	}
	said := []string{"the bundle must be signed with key " + strings.Join(required, " or ")}
	if len(dirs) > 0 {
		if key, err := bundle.PublicKeyIn(dirs[0]); err == nil {
			said = append(said, fmt.Sprintf("the one in %s contains key %s", dirs[0], bundle.Fingerprint(key)))
		}
	}
	return nil, t.distrust(errors.New(strings.Join(said, "; ")))
}

// learn adds the keys that have a required fingerprint.
func (t *Trust) learn(keys []*ecdsa.PublicKey) {
	for _, key := range keys {
		again := slices.ContainsFunc(t.Keys, func(k *ecdsa.PublicKey) bool { return k.Equal(key) })
		if !again && slices.Contains(t.Required, bundle.Fingerprint(key)) {
			t.Keys = append(t.Keys, key)
		}
	}
}

// StoredBundles returns the directories of the bundles in a store.
func StoredBundles(dir string) []string {
	names, _ := registry.Store{Dir: dir}.List() // Store.Open reports the error
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names
}

// Explain adds a hint to the error of a missing signature, or a signature with another key.
func (t *Trust) Explain(err error) error {
	if errors.Is(err, bundle.ErrSignature) || errors.Is(err, bundle.ErrUnsigned) {
		return t.distrust(err)
	}
	return err
}

func (t *Trust) distrust(err error) error {
	if fingerprints, _, _ := SplitKeys(t.Required); len(fingerprints) > 0 {
		return advice.Add(err, "keys that --require-key requires, now or when this host was installed (%s): %s; "+
			"do not use this bundle unless a person you trust confirms its key, then give that key with --require-key", RequiredFile, strings.Join(fingerprints, ", "))
	}
	return advice.Add(err, "trusted on this host: %s; do not use this bundle unless its builder confirms another key", Fingerprints(t.Keys))
}

// Fingerprints returns the fingerprints of the keys as text, with commas between them.
func Fingerprints(keys []*ecdsa.PublicKey) string {
	var prints []string
	for _, k := range keys {
		prints = append(prints, bundle.Fingerprint(k))
	}
	return strings.Join(prints, ", ")
}
