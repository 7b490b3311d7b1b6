// Package metacache keeps the metadata of repositories between plans, as files named by their
// checksums. It gives no trust: the caller verifies the checksum of all that it gets, against
// metadata that it has just fetched. So a file that someone damaged is only fetched again.
package metacache

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"syscall"
	"time"
)

// Limit is the size of all files, in bytes. Those that no plan used for the longest time go first.
const Limit = 2 << 30

// Dir is the path of a directory of such files. "" keeps nothing.
type Dir string

var name = regexp.MustCompile(`^sha(256|384|512)-[0-9a-f]{64,128}$`)

// Get returns the file of a checksum, such as "sha256-…", or nil. It reads at most limit bytes.
func (d Dir) Get(sum string, limit int64) []byte {
	if d == "" || !name.MatchString(sum) {
		return nil
	}
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil
	}
	defer root.Close()
	f, err := root.OpenFile(sum, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil
	}
	now := time.Now()
	_ = root.Chtimes(sum, now, now) // only for the order in prune
	return data
}

// Put keeps a file. The caller has verified it. It creates the directory for this user alone.
func (d Dir) Put(sum string, data []byte) error { return d.put(sum, data, Limit) }

func (d Dir) put(sum string, data []byte, limit int64) error {
	if d == "" || !name.MatchString(sum) {
		return nil
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return err
	}
	defer root.Close()
	part := "part-" + rand.Text()
	err = root.WriteFile(part, data, 0o600)
	if err == nil {
		err = root.Rename(part, sum)
	}
	if err != nil {
		return errors.Join(err, remove(root, part))
	}
	return prune(root, limit)
}

// remove removes a file that may be gone: another airgap can use the same directory.
func remove(root *os.Root, file string) error {
	if err := root.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// prune removes the files above the limit.
func prune(root *os.Root, limit int64) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var size int64
	for _, info := range all {
		if size += info.Size(); size > limit {
			err = errors.Join(err, remove(root, info.Name()))
		}
	}
	return err
}
