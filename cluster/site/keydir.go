package site

import (
	"os"
	"path/filepath"
)

// DefaultKeyDir is the directory of the signing keys on the connected host. It is "" without an
// absolute home directory: a relative one would be a directory of whichever place the program runs in.
func DefaultKeyDir() string {
	dir, err := os.UserConfigDir()
	if err != nil || !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "airgap", "keys")
}
