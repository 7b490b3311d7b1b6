package scenario

import (
	"os"
	"path/filepath"
)

// TreeSize returns the total size in bytes of the files below dir with names that match
// pattern.
func TreeSize(dir, pattern string) int64 {
	var total int64
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		if matches, err := filepath.Match(pattern, info.Name()); err != nil || !matches {
			return err
		}
		total += info.Size()
		return nil
	})
	return total
}
