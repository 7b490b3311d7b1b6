package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPlain opens a file from outside, for example on a USB drive. It refuses a link, which
// could lead to files of this host, and any other file that is not regular: opening a
// FIFO or a device can already have effects.
func OpenPlain(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil {
		err = wantPlain(path, info)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = wantPlain(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func wantPlain(path string, info fs.FileInfo) error {
	what := "no regular file"
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		what = "a symbolic link"
	case info.IsDir():
		what = "a directory"
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is %s, want a regular file", what)}
}
