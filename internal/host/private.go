package host

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxPrivate, in bytes, is far more than a private key takes.
const maxPrivate = 1 << 20

// ReadPrivate reads a private key. A file that others on the machine can read
// is refused, and one larger than 1 MiB. In another user's directory root reads only
// files that this user could read.
func ReadPrivate(path string) (text []byte, err error) {
	err = AsOwner(path, func() error {
		text, err = readPrivate(path)
		return err
	})
	return text, err
}

func readPrivate(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, &ModeError{path, mode, FileSystemOf(path)}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPrivate+1))
	if err == nil && len(text) > maxPrivate {
		err = fmt.Errorf("larger than %d bytes: it is no key", maxPrivate)
	}
	return text, err
}
