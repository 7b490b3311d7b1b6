package site

import (
	"path/filepath"

	"airgap.dev/airgap/bundle"
)

// NameInStore is what a bundle is called in its store, where several may have one name.
func NameInStore(b *bundle.Bundle) string { return filepath.Base(b.Dir()) }
