package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNotOurs is why something stays: it is reached by a link, or mounted.
var ErrNotOurs = errors.New("not deleted")

// RemoveTree deletes a file, or a directory with all that is in it. It deletes nothing
// behind a symbolic link and nothing that is mounted: a link or a mount at path is
// refused, and so is a mount below it, before anything is deleted. Links below path
// are deleted themselves. A missing path is no error.
func RemoveTree(path string) error {
	if err := TreeRefused(path); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(path))
	if err != nil {
		return IgnoreMissing(err)
	}
	defer parent.Close()
	var s unix.Stat_t
	if err := unix.Fstatat(int(parent.Fd()), filepath.Base(path), &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return IgnoreMissing(err)
	}
	return removeAt(parent, filepath.Base(path), s.Dev)
}

// TreeRefused says why RemoveTree would delete nothing.
func TreeRefused(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return IgnoreMissing(err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, _ := os.Readlink(path)
		return notOurs(path, "it is a symbolic link to "+target)
	}
	return nothingMounted(path, true)
}

// EmptyTree deletes the contents of a directory, as RemoveTree does, without the names in
// except. The directory stays and may be a mount point.
func EmptyTree(dir string, except ...string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return IgnoreMissing(err)
	}
	if !info.IsDir() {
		return notOurs(dir, "it is no directory")
	}
	if err := nothingMounted(dir, false); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return emptyAt(d, except...)
}

// Unlinked is the path of dir without symbolic links.
func Unlinked(dir string) (string, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(resolved)
}

// nothingMounted returns an error that names a mount below path, or at it.
func nothingMounted(path string, orAt bool) error {
	resolved, err := Unlinked(path)
	if err != nil {
		return err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		at := UnescapeMount(fields[4])
		if orAt && at == resolved || strings.HasPrefix(at, strings.TrimSuffix(resolved, "/")+"/") {
			return notOurs(path, at+" is mounted")
		}
	}
	return nil
}

// UnescapeMount reads a path as the kernel writes it into its tables.
func UnescapeMount(text string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}

func notOurs(path, why string) error {
	return fmt.Errorf("delete %s: %w: %s", path, ErrNotOurs, why)
}

// removeAt removes one name in an open directory. A directory of another device was
// mounted in the meantime, by an automounter.
func removeAt(parent *os.File, name string, device uint64) error {
	path := filepath.Join(parent.Name(), name)
	switch err := unix.Unlinkat(int(parent.Fd()), name, 0); {
	case err == nil || errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EISDIR):
		return &fs.PathError{Op: "delete", Path: path, Err: err}
	}
	fd, err := unix.Openat(int(parent.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "delete", Path: path, Err: err}
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return &fs.PathError{Op: "delete", Path: path, Err: err}
	}
	if s.Dev != device {
		return notOurs(path, "it is on another device")
	}
	if err := emptyAt(dir); err != nil {
		return err
	}
	if err := unix.Unlinkat(int(parent.Fd()), name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "delete", Path: path, Err: err}
	}
	return nil
}

func emptyAt(dir *os.File, except ...string) error {
	var s unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &s); err != nil {
		return &fs.PathError{Op: "delete", Path: dir.Name(), Err: err}
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	var first error
	for _, name := range names {
		if slices.Contains(except, name) {
			continue
		}
		if err := removeAt(dir, name, s.Dev); err != nil && first == nil {
			first = err
		}
	}
	return first
}
