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

// broughtName is the file of the store with the names of the images that its bundles
// brought. It outlives the bundles, so that no push takes their place. Root writes it;
// the registry's user only reads.
const broughtName = ".brought.json"

// broughtImages is its content.
type broughtImages struct {
	Images []string `json:"images"` // NAME:TAG or NAME@DIGEST, sorted
}

// Brought names the images of all bundles that the store has, or had.
func (s Store) Brought() ([]string, error) {
	file := filepath.Join(s.Dir, broughtName)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read names of earlier bundles: %w", err)
	}
	var known broughtImages
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, fmt.Errorf("read names of earlier bundles: %s: %w", file, err)
	}
	return known.Images, nil
}

// remember adds the names of the bundle's images.
func (s Store) remember(b *bundle.Bundle) error {
	known, err := s.Brought()
	if err != nil {
		return err
	}
	all := map[string]bool{}
	for _, name := range known {
		all[name] = true
	}
	for _, image := range b.Index().Lock.Images {
		all[image.Name] = true
	}
	if len(all) == len(known) {
		return nil
	}
	text, err := json.Marshal(broughtImages{slices.Sorted(maps.Keys(all))})
	if err != nil {
		return err
	}
	return host.WriteFile(filepath.Join(s.Dir, broughtName), append(text, '\n'), 0o644)
}
