package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// FreeSpace is how many bytes whoever asks may still write where dir is.
func FreeSpace(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("ask for free space in %s: %w", dir, err)
	}
	return int64(s.Bavail) * s.Bsize, nil
}
