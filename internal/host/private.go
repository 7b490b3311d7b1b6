package host

import (
	"fmt"
	"io"
	"os"
)

// ReadPrivate reads a private key. A file that others on the machine can read
// is refused.
func ReadPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("mode is %#o, so others can read it: want 0600", mode)
	}
	return io.ReadAll(f)
}
