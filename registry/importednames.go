package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
)

// importedNamesFile lists the names of all images from imported bundles. It stays in the store when a
// bundle is removed, so that no push can take such a name. Only root writes it; the registry's user
// reads it.
const importedNamesFile = ".brought.json"

// importedNames is the content of importedNamesFile.
type importedNames struct {
	Images []string `json:"images"` // NAME:TAG or NAME@DIGEST, sorted
}

// ImportedNames returns the names of the images of all current and earlier bundles of the store.
func (s Store) ImportedNames() ([]string, error) {
	file := filepath.Join(s.Dir, importedNamesFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read names of earlier bundles: %w", err)
	}
	var current importedNames
	if err := json.Unmarshal(text, &current); err != nil {
		return nil, fmt.Errorf("read names of earlier bundles: %s: %w", file, err)
	}
	return current.Images, nil
}

// recordNames adds the names of the bundle's images to importedNamesFile.
func (s Store) recordNames(b *bundle.Bundle) error {
	current, err := s.ImportedNames()
	if err != nil {
		return err
	}
	all := map[string]bool{}
	for _, name := range current {
		all[name] = true
	}
	for _, image := range b.Index().Lock.Images {
		all[image.Name] = true
	}
	if len(all) == len(current) {
		return nil
	}
	text, err := json.Marshal(importedNames{slices.Sorted(maps.Keys(all))})
	if err != nil {
		return err
	}
	return host.WriteFile(filepath.Join(s.Dir, importedNamesFile), append(text, '\n'), 0o644)
}
