package site

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
)

// countPrefix begins the number of keys in RequiredFile, and in the values of --require-key.
const countPrefix = "keys="

// RequireKeys is a value for TrustedKeys next to keys: so many of the trusted keys must have signed a bundle.
func RequireKeys(n int) string { return countPrefix + strconv.Itoa(n) }

// Count reads the format of RequireKeys. is reports whether the text has this format.
func Count(text string) (n int, is bool, err error) {
	digits, is := strings.CutPrefix(text, countPrefix)
	if !is {
		return 0, false, nil
	}
	n, err = strconv.Atoi(digits)
	if err != nil || n < 1 || n > config.MaxApprovals {
		return 0, true, fmt.Errorf("%q: want a number of keys, 1 to %d", digits, config.MaxApprovals)
	}
	return n, true, nil
}

// SplitKeys separates fingerprints and the number of keys, the largest one that is given.
func SplitKeys(values []string) (fingerprints []string, keys int, err error) {
	for _, value := range values {
		n, is, err := Count(value)
		if err != nil {
			return nil, 0, err
		}
		if keys = max(keys, n); !is {
			fingerprints = append(fingerprints, value)
		}
	}
	return fingerprints, keys, nil
}

// join is the reverse of SplitKeys. One key is the default and is not recorded.
func join(fingerprints []string, keys int) []string {
	if keys <= 1 {
		return fingerprints
	}
	return append(slices.Clone(fingerprints), RequireKeys(keys))
}

// Approve returns an error unless enough of the trusted keys have signed the index: as many as --require-keys,
// RequiredFile and airgap.yaml ask for, the largest number of them. So a bundle cannot lower the number. Required
// then has the number, for the commands that record it. files are bundle.SignersOf's. Their public keys with a
// required fingerprint count, also those that TrustedKeys did not find.
func (t *Trust) Approve(index *bundle.Index, files map[string][]byte) error {
	t.learn(bundle.PublicKeysOf(files))
	return t.enough(index, len(bundle.SignersOf(files, t.Keys...)))
}

// Accept is Approve for an open bundle, for example of another host.
func (t *Trust) Accept(b *bundle.Bundle) error {
	files := map[string][]byte{}
	for _, name := range []string{bundle.SumsName, bundle.SignatureName, bundle.PublicKeyName, bundle.CosignaturesName} {
		text, err := b.Attested(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		files[name] = text
	}
	return t.Approve(b.Index(), files)
}

func (t *Trust) enough(index *bundle.Index, signed int) error {
	fingerprints, keys, err := SplitKeys(t.Required)
	if err != nil {
		return err
	}
	if c, err := config.ParseStored("airgap.yaml of bundle "+index.Name, []byte(index.Config)); err == nil { // who needs its configuration reports the error
		keys = max(keys, c.Approval.Keys)
	}
	t.Required = join(fingerprints, keys)
	if signed >= max(keys, 1) {
		return nil
	}
	return advice.Add(fmt.Errorf("accept bundle %s: %d of the trusted keys signed it, but %d must", index.Name, signed, keys),
		"let another person whose key is trusted here check it and sign it: airgap sign DIR; trusted: %s", Fingerprints(t.Keys))
}

// KeyCount is the flag --require-keys: a value among those of --require-key.
type KeyCount struct{ Values *[]string }

// String is the default of the flag.
func (k KeyCount) String() string { return "" }

// Type is the name of the flag's type.
func (k KeyCount) Type() string { return "int" }

// Set adds the number to the values.
func (k KeyCount) Set(text string) error {
	n, _, err := Count(countPrefix + text)
	if err == nil {
		*k.Values = append(*k.Values, RequireKeys(n))
	}
	return err
}
