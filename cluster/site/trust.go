package site

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
)

// Trust is which keys a bundle must be signed with.
type Trust struct {
	Required []string // fingerprints, by --require-key, now or earlier; none where it was never given
	Keys     []*ecdsa.PublicKey
}

// TrustedKeys decides it for this host: the values of --require-key, else what is
// written down, else the keys that airgap.rpm installed, else the one this user
// signs with. What is required is a fingerprint; the key that has it may come
// with the very bundle: in dirs, that of the bundle first.
func TrustedKeys(values []string, dirs ...string) (*Trust, error) {
	required, keys, err := requiredKeys(values)
	if err == nil && len(values) == 0 {
		required, err = RecordedKeys(RequiredFile)
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
	return &Trust{Keys: keys}, nil
}

// defaultKeys are those that count where none was required.
func defaultKeys() ([]*ecdsa.PublicKey, error) {
	files, _ := filepath.Glob(filepath.Join(TrustDir, "*.pub"))
	if len(files) == 0 {
		if own := filepath.Join(DefaultKeyDir(), bundle.PublicKeyName); Exists(own) {
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
	files, _ := filepath.Glob(filepath.Join(TrustDir, "*.pub"))
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
func pickKeys(required []string, from []*ecdsa.PublicKey, dirs []string) (*Trust, error) {
	t := &Trust{Required: required}
	for _, key := range from {
		again := slices.ContainsFunc(t.Keys, func(k *ecdsa.PublicKey) bool { return k.Equal(key) })
		if !again && slices.Contains(required, bundle.Fingerprint(key)) {
			t.Keys = append(t.Keys, key)
		}
	}
	if len(t.Keys) > 0 {
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

// StoredBundles are the directories of a store's bundles.
func StoredBundles(dir string) []string {
	names, _ := registry.Store{Dir: dir}.List() // whoever opens the store hears of an error
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names
}

// Explain says what to do about a signature that is not by one of the keys.
func (t *Trust) Explain(err error) error {
	if errors.Is(err, bundle.ErrSignature) || errors.Is(err, bundle.ErrUnsigned) {
		return t.distrust(err)
	}
	return err
}

func (t *Trust) distrust(err error) error {
	if len(t.Required) > 0 {
		return advice.Add(err, "required by --require-key, now or when this host was installed (%s): %s; do not use this bundle unless somebody you trust vouches for another key, and name that with --require-key", RequiredFile, strings.Join(t.Required, ", "))
	}
	return advice.Add(err, "trusted here: %s; do not use this bundle unless its builder vouches for another key", Fingerprints(t.Keys))
}

// Fingerprints lists those of the keys, for people.
func Fingerprints(keys []*ecdsa.PublicKey) string {
	var prints []string
	for _, k := range keys {
		prints = append(prints, bundle.Fingerprint(k))
	}
	return strings.Join(prints, ", ")
}

// DefaultKeyDir is where the connected host keeps its signing keys.
func DefaultKeyDir() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		dir = "."
	}
	return filepath.Join(dir, "airgap", "keys")
}
