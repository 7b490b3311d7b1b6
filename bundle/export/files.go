package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// file is one file of the repository.
type file struct {
	name    string // below the directory of the repository: "Packages/kubelet-1.36.3-1.x86_64.rpm"
	content *bundle.Content
}

// filesOf lists the files below dir in the bundle. The metadata is at the end, and
// repomd.xml is the last file.
func filesOf(v *bundle.View, dir string) ([]file, error) {
	var all []file
	err := fs.WalkDir(v.FS(), dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := v.File(p)
		if err == nil {
			all = append(all, file{strings.TrimPrefix(p, dir+"/"), content})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b file) int { return rank(a.name) - rank(b.name) })
	return all, nil
}

// rank orders the files by their writing.
func rank(name string) int {
	switch {
	case path.Base(name) == "repomd.xml":
		return 3
	case path.Base(name) == "repomd.xml.asc":
		return 2
	case strings.HasPrefix(name, "repodata/"):
		return 1
	}
	return 0
}

// writeAll returns the number of bytes that were missing or wrong.
func writeAll(ctx context.Context, dir string, files []file, task ui.Task) (written int64, err error) {
	defer func() { task.End(err) }()
	if err := checkSpace(dir, files); err != nil {
		return 0, err
	}
	for _, f := range files {
		if ctx.Err() != nil {
			return written, context.Cause(ctx)
		}
		to := filepath.Join(dir, filepath.FromSlash(f.name))
		same, err := has(to, f.content.Entry())
		if err != nil {
			return written, err
		}
		if !same {
			if err := f.writeTo(to); err != nil {
				return written, fmt.Errorf("write %s: %w", f.name, err)
			}
			written += f.content.Size()
		}
		task.Add(f.content.Size())
	}
	return written, nil
}

// checkSpace requires space for the files that do not exist with their size.
func checkSpace(dir string, files []file) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var need int64
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.name)))
		if err != nil || info.Size() != f.content.Size() {
			need += f.content.Size()
		}
	}
	free, err := host.FreeSpace(dir)
	if err != nil {
		return err
	}
	if need > free {
		return fmt.Errorf("no space: needs %s more, %s available", ui.Size(need), ui.Size(free))
	}
	return nil
}

// has reports whether the file at path has the size and SHA-256 of the entry.
func has(path string, e bundle.Entry) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: remove it", path)
	}
	if err != nil || info.Size() != e.Size {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false, err
	}
	return hex.EncodeToString(h.Sum(nil)) == e.SHA256, nil
}

func (f file) writeTo(to string) error {
	h := sha256.New()
	return writeFile(to, io.TeeReader(f.content.Reader(), h), func() error {
		if got, want := hex.EncodeToString(h.Sum(nil)), f.content.Entry().SHA256; got != want {
			return fmt.Errorf("SHA-256 is %s, want %s", got, want)
		}
		return nil
	})
}

func writeText(to string, text []byte) error {
	return writeFile(to, bytes.NewReader(text), func() error { return nil })
}

// writeFile replaces the file when check accepts the content. It sets no mode afterwards,
// because FAT refuses that.
func writeFile(to string, content io.Reader, check func() error) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	tmp := to + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = check()
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, to)
}

// others are the files in dir that the bundle does not have, sorted.
func others(dir string, files []file) ([]string, error) {
	ours := map[string]bool{}
	for _, f := range files {
		ours[f.name] = true
	}
	var found []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !ours[p] {
			found = append(found, p)
		}
		return err
	})
	return found, err
}
