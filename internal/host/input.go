package host

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// MaxInput is enough for keys, a bundle of CA certificates, a password or a list of pieces, in bytes.
const MaxInput = 16 << 20

// ReadInput reads a file that the user names, of at most limit bytes. It can be a pipe. A pipe without a writer is
// empty: the open of a pipe waits for a writer, and Ctrl-C does not end that wait.
func ReadInput(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d MiB", path, limit>>20)
	}
	return data, nil
}
