package registry

import (
	"bytes"
	"crypto/ecdsa"
	"errors"
	"io/fs"
	"path/filepath"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
)

// A person can sign a bundle that a store has already. The functions in this file give the store's copy the signatures
// of another copy, without copying the parts again.

// mergedSignatures returns the further signatures of the bundle in dir and of files, which are of the same bundle. more
// reports that dir lacks some. A file that cannot be read has none.
func mergedSignatures(dir string, files map[string][]byte, trusted []*ecdsa.PublicKey) (merged []byte, more bool) {
	sums := files[bundle.SumsName]
	merged = bundle.MergeCosignatures(dir, sums, trusted, files[bundle.CosignaturesName])
	return merged, !bytes.Equal(merged, bundle.MergeCosignatures(dir, sums, trusted))
}

// addSignatures does not write to a bundle that is served in place.
func addSignatures(dir string, files map[string][]byte, trusted []*ecdsa.PublicKey) error {
	merged, more := mergedSignatures(dir, files, trusted)
	if !more || isLinked(dir) {
		return nil
	}
	return host.WriteFile(filepath.Join(dir, bundle.CosignaturesName), merged, 0o644)
}

// signaturesOf returns SHA256SUMS and the further signatures of a bundle.
func signaturesOf(b *bundle.Bundle) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range []string{bundle.SumsName, bundle.CosignaturesName} {
		text, err := b.Attested(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

// LacksSignatures reports whether the store has the bundle with fewer signatures.
func (s Store) LacksSignatures(b *bundle.Bundle, trusted ...*ecdsa.PublicKey) (bool, error) {
	dir, files, err := s.copyOf(b)
	if err != nil || dir == "" || isLinked(dir) {
		return false, err
	}
	_, more := mergedSignatures(dir, files, trusted)
	return more, nil
}

// addSignatures gives the store's copy of the bundle the signatures that it lacks.
func (s Store) addSignatures(b *bundle.Bundle, trusted []*ecdsa.PublicKey) error {
	dir, files, err := s.copyOf(b)
	if err != nil || dir == "" {
		return err
	}
	return addSignatures(dir, files, trusted)
}

// copyOf returns the directory of the bundle in the store, or "", and its signatures.
func (s Store) copyOf(b *bundle.Bundle) (dir string, files map[string][]byte, err error) {
	if files, err = signaturesOf(b); err != nil {
		return "", nil, err
	}
	dir, err = s.dirWithSums(files[bundle.SumsName])
	return dir, files, err
}
