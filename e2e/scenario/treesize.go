package scenario

import (
	"os"
	"path/filepath"
)

// TreeSize adds up the files below dir whose names match pattern, in bytes.
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
