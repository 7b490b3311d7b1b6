// Package debian takes programs from the Debian packages installed on this machine. It finds
// their dependencies: the shared libraries for an otherwise empty image, and the provides and
// requires that rpmbuild would derive for an RPM. So the lab's packages run, and have real
// dependencies.
package debian

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

const (
	libraries = "/usr/lib/x86_64-linux-gnu"
	loader    = "/lib64/ld-linux-x86-64.so.2"
)

// Take returns the file at path. For a symbolic link within its directory, such as the soname
// of a library, it returns the link and its target.
func Take(path string) ([]archive.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("take from an installed package: %w", err)
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return []archive.File{{Path: path[1:], Source: path, Mode: int64(info.Mode().Perm())}}, nil
	}
	target, err := os.Readlink(path)
	if err != nil {
		return nil, err
	}
	if filepath.Base(target) != target {
		return nil, fmt.Errorf("take %s: the link points to %s, outside its directory", path, target)
	}
	files, err := Take(filepath.Join(filepath.Dir(path), target))
	return append(files, archive.File{Path: path[1:], Link: target}), err
}

// Library returns the path of the library with that soname.
func Library(soname string) string { return filepath.Join(libraries, soname) }

// Plugins lists the shared objects in a directory next to the libraries. Programs load them
// by name, so that ELF headers do not list them.
func Plugins(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(libraries, dir, "*.so"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("list the plug-ins in %s: %w", filepath.Join(libraries, dir), fs.ErrNotExist)
	}
	return paths, err
}

// Closure returns the programs or plug-ins at the paths with all libraries that they need,
// and the loader.
func Closure(paths ...string) ([]archive.File, error) {
	var files []archive.File
	seen := map[string]bool{}
	for queue := slices.Clone(paths); len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		if seen[path] {
			continue
		}
		seen[path] = true
		taken, err := Take(path)
		if err != nil {
			return nil, err
		}
		files = append(files, taken...)
		needed, err := sonames(path)
		if err != nil {
			return nil, err
		}
		for _, name := range needed {
			if name != filepath.Base(loader) {
				queue = append(queue, Library(name))
			}
		}
	}
	return append(files, archive.File{Path: loader[1:], Source: loader}), nil
}

// sonames lists the libraries that a file is linked with. A script has none.
func sonames(path string) ([]string, error) {
	f, err := elf.Open(path)
	if _, is := errors.AsType[*elf.FormatError](err); is {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	return f.ImportedLibraries()
}
