package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FreeSpace returns the number of bytes that this process can still write in dir's file system.
func FreeSpace(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("ask for free space in %s: %w", dir, err)
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// SameFilesystem reports whether two directories are in the same file system.
func SameFilesystem(a, b string) (bool, error) {
	var one, other unix.Stat_t
	if err := errors.Join(unix.Stat(a, &one), unix.Stat(b, &other)); err != nil {
		return false, fmt.Errorf("look at %s and %s: %w", a, b, err)
	}
	return one.Dev == other.Dev, nil
}

// BytesBelow returns the bytes of all files below a directory; 0 if it does not exist.
func BytesBelow(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return IgnoreMissing(err)
		}
		info, err := d.Info()
		if err != nil { // it has gone meanwhile, as etcd's old logs do
			return IgnoreMissing(err)
		}
		bytes += info.Size()
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("measure the size of %s: %w", dir, err)
	}
	return bytes, nil
}
