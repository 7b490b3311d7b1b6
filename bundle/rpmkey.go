package bundle

import (
	"errors"
	"fmt"
	"io/fs"

	"airgap.dev/airgap/bundle/rpm"
)

// checkRPMKey wants the file that people import into rpm to hold one key: they compare one
// fingerprint. A bundle without packages has none; one that is missing Verify reports.
func checkRPMKey(source fs.FS, sums sums) error {
	want, listed := sums[RPMKeyName]
	if !listed {
		return nil
	}
	data, err := readLimited(source, RPMKeyName, maxSums)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if sha256Hex(data) != want {
		return &DamageError{Part: RPMKeyName, Chunk: -1, Cause: "SHA-256 is not the signed one"}
	}
	if _, err := rpm.OneKey(data); err != nil {
		return fmt.Errorf("%s: %w: import nothing of it, and ask whoever built the bundle", RPMKeyName, err)
	}
	return nil
}
