package site

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/internal/advice"
)

// ErrNotInstalled reports a host on which airgap has installed nothing.
var ErrNotInstalled = errors.New("airgap is not installed on this host")

// MustBeInstalled returns an error if airgap has installed nothing on this host, not even a bundle in
// the store. Without this check, a command would report its first missing file or key.
func MustBeInstalled(command string) error { return mustBeInstalled("/", command) }

func mustBeInstalled(root, command string) error {
	marks := []string{JournalFile, StoreDir, IndexDir, PKIDir}
	if slices.ContainsFunc(marks, func(path string) bool { return Exists(filepath.Join(root, path)) }) {
		return nil
	}
	return advice.Add(fmt.Errorf("airgap %s: %w: it has no %s, %s, %s or %s", command, ErrNotInstalled, JournalFile, StoreDir, IndexDir, PKIDir),
		"run airgap %s on a host of the cluster; to install this host, run airgap install DIR, or airgap join if the cluster exists", command)
}
