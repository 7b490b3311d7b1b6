package site

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
)

// requiredKeys is KeysOf for --require-key.
func requiredKeys(values []string) (required []string, keys []*ecdsa.PublicKey, err error) {
	return KeysOf("--require-key", values)
}

// KeysOf reads the values of a flag that takes fingerprints or files of public keys. It returns all
// fingerprints, and the keys from the files.
func KeysOf(flag string, values []string) (required []string, keys []*ecdsa.PublicKey, err error) {
	for _, value := range values {
		fingerprint, is, err := bundle.ParseFingerprint(value)
		if err != nil || value == "" {
			return nil, nil, advice.Usagef("%s %q: want SHA256: and 64 hexadecimal digits, or the file of a public key", flag, value)
		}
		if !is {
			key, err := bundle.LoadPublicKey(value)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", flag, err)
			}
			fingerprint, keys = bundle.Fingerprint(key), append(keys, key)
		}
		if !slices.Contains(required, fingerprint) {
			required = append(required, fingerprint)
		}
	}
	return required, keys, nil
}

// RecordedKeys returns the fingerprints that TrustStep wrote to file, or none if the file does not exist.
// A file with an invalid line is an error, because airgap would otherwise trust more keys than required.
func RecordedKeys(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read required keys: %w", err)
	}
	lines := strings.Fields(string(text))
	for _, line := range lines {
		if _, is, err := bundle.ParseFingerprint(line); err != nil || !is {
			return nil, spoiled(file, fmt.Sprintf("%q is not a fingerprint", line))
		}
	}
	if len(lines) == 0 {
		return nil, spoiled(file, "it is empty")
	}
	return lines, nil
}

func spoiled(file, why string) error {
	return advice.Add(fmt.Errorf("read required keys of %s: %s", file, why), "give the keys again with --require-key; airgap install and airgap join rewrite the file")
}
