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

// KeysOf reads the values of a flag that takes fingerprints, files of public keys, or directories of such files. It
// returns all fingerprints, the keys from the files, and the values of RequireKeys as they are.
func KeysOf(flag string, values []string) (required []string, keys []*ecdsa.PublicKey, err error) {
	for _, value := range values {
		if _, is, err := Count(value); is {
			if err != nil {
				return nil, nil, advice.Usagef("%s: %w", flag, err)
			}
			required = append(required, value)
			continue
		}
		fingerprint, is, err := bundle.ParseFingerprint(value)
		if err != nil || value == "" {
			return nil, nil, advice.Usagef("%s %q: want SHA256: and 64 hexadecimal digits, the file of a public key, or a directory with such files", flag, value)
		}
		prints := []string{fingerprint}
		if !is {
			loaded, err := loadKeys(value)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", flag, err)
			}
			prints, keys = nil, append(keys, loaded...)
			for _, key := range loaded {
				prints = append(prints, bundle.Fingerprint(key))
			}
		}
		for _, one := range prints {
			if !slices.Contains(required, one) {
				required = append(required, one)
			}
		}
	}
	return required, keys, nil
}

// loadKeys reads a file with a public key, or all of a directory.
func loadKeys(path string) ([]*ecdsa.PublicKey, error) {
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files = keyFiles(path); len(files) == 0 {
			return nil, fmt.Errorf("load public keys: %s has no files with the ending .pub", path)
		}
	}
	var keys []*ecdsa.PublicKey
	for _, file := range files {
		key, err := bundle.LoadPublicKey(file)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// RecordedKeys returns the fingerprints and the number of keys that TrustStep wrote to file, or none if the file does
// not exist. A file with an invalid line is an error, because airgap would otherwise trust more keys than required.
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
		if _, is, err := Count(line); is {
			if err != nil {
				return nil, spoiled(file, err.Error())
			}
			continue
		}
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
