package bundle

import (
	"errors"
	"fmt"
	"io/fs"

	"airgap.dev/airgap/bundle/rpm"
)

// checkRPMKey requires one key in the file for rpm --import, because the user compares
// one fingerprint. A bundle without packages has no key file; Verify reports a missing
// one.
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
		return &DamageError{Part: RPMKeyName, Chunk: -1, Cause: "SHA-256 does not match the signed value"}
	}
	if _, err := rpm.OneKey(data); err != nil {
		return fmt.Errorf("%s: %w: do not import this file; ask the person who built the bundle", RPMKeyName, err)
	}
	return nil
}
