// Package nextboot reads what the files of a host set up for its next boot: the boot loader's
// entry and its kernel command line, swap, SELinux, and disabled kernel modules.
//
// In flow the files, as an fs.FS: of the host itself or of a recording. Out flow values with the
// file and the line that each one comes from. An unreadable file is an error, a missing file is
// not. Nothing here runs a program or compares the next boot with the running system.
package nextboot

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// Place is a line of a file.
type Place struct {
	File string `yaml:"file" json:"file"`                     // "/etc/fstab"
	Line int    `yaml:"line,omitempty" json:"line,omitempty"` // from 1; 0 for the whole file
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s line %d", p.File, p.Line)
}

const (
	mostBytes  = 1 << 20 // of a configuration file
	mostFound  = 64      // entries of a kind, so that facts stay readable
	etcUnits   = "etc/systemd/system"
	localUnits = "usr/local/lib/systemd/system"
	usrUnits   = "usr/lib/systemd/system"
)

// source is a file, by the path in an fs.FS.
type source struct {
	path  string
	lines []string
}

// at is the place of the line with an index.
func (s source) at(index int) Place { return Place{"/" + s.path, index + 1} }

// read reads the lines of a file. A missing file, or the target of a dangling link, has none.
func read(fsys fs.FS, path string) (source, error) {
	s := source{path: path}
	info, err := fs.Stat(fsys, path)
	if missing(err) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		return s, fmt.Errorf("read /%s: it is not a file", path)
	}
	if info.Size() > mostBytes {
		return s, fmt.Errorf("read /%s: it has more than %d bytes", path, mostBytes)
	}
	data, err := fs.ReadFile(fsys, path)
	if err != nil {
		return s, err
	}
	s.lines = strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	return s, nil
}

// names lists a directory; none if it does not exist.
func names(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if missing(err) {
		return nil, nil
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	slices.Sort(all)
	return all, err
}

// missing reports whether a path does not exist, also because a part of it is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func exists(fsys fs.FS, path string) (bool, error) {
	_, err := fs.Stat(fsys, path)
	if missing(err) {
		return false, nil
	}
	return err == nil, err
}

// configured lists the files DIR/*.conf of several directories, in the order of their names. In
// systemd's tools and in modprobe a file hides those with the same name in later directories.
func configured(fsys fs.FS, dirs ...string) ([]string, error) {
	byName := map[string]string{}
	var order []string
	for _, dir := range dirs {
		found, err := names(fsys, dir)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if byName[name] == "" && strings.HasSuffix(name, ".conf") {
				byName[name] = dir + "/" + name
				order = append(order, name)
			}
		}
	}
	slices.Sort(order)
	for i, name := range order {
		order[i] = byName[name]
	}
	return order, nil
}

// comment reports whether a line has no content for parsers of configuration files.
func comment(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#' || line[0] == ';'
}
