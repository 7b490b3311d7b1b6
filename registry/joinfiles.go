package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// JoinFiles serves the regular files in dir, without subdirectories, below /join/. dir may be created
// later.
func JoinFiles(dir string) http.Handler {
	return http.StripPrefix("/join/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !reads(r) {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the files can only be read", http.StatusMethodNotAllowed)
			return
		}
		f, err := openPlain(dir, r.URL.Path)
		if errors.Is(err, fs.ErrNotExist) {
			http.NotFound(w, r)
			return
		}
		if err != nil {
			http.Error(w, "the file cannot be read", http.StatusInternalServerError)
			return
		}
		defer f.Close()
		http.ServeContent(w, r, r.URL.Path, time.Time{}, f)
	}))
}

// openPlain opens a regular file of the directory. It follows no symbolic link, so that files outside
// the directory stay private.
func openPlain(dir, name string) (*os.File, error) {
	if name != filepath.Base(name) {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Lstat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("open %s: not a regular file", name), err, f.Close())
	}
	return f, nil
}
