package site

import (
	"path/filepath"

	"airgap.dev/airgap/bundle"
)

// NameInStore returns the name of a bundle's directory in its store. Several bundles can have the same Index.Name.
func NameInStore(b *bundle.Bundle) string { return filepath.Base(b.Dir()) }
