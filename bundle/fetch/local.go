package fetch

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// localPath returns the path of a file:// URL, for a repository on a mounted medium.
func localPath(raw string) (path string, is bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "file" || u.Host != "" || !filepath.IsAbs(u.Path) {
		return "", false
	}
	return filepath.Clean(u.Path), true
}

// openLocal opens a regular file. A device or a FIFO on a foreign medium is refused, and opening it has no
// effect.
func openLocal(path string, offset int64) (io.ReadCloser, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: it is no regular file", path)
	}
	if err == nil && offset > 0 {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
