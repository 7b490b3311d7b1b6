package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/ignore"
)

// Limits of a chart, the same as Helm's for archives.
const (
	maxFile  = 5 << 20
	maxTotal = 100 << 20
)

// directory reads a chart as Helm does, through an os.Root, which follows no link to the
// outside.
type directory struct {
	root  *os.Root
	rules *ignore.Rules
	files []*archive.BufferedFile
	left  int64
}

func readDir(dir string) ([]*archive.BufferedFile, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d := &directory{root: root, left: maxTotal}
	if err := d.readRules(); err != nil {
		return nil, err
	}
	top, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	return d.files, d.walk(".", []fs.FileInfo{top})
}

func (d *directory) readRules() error {
	d.rules = ignore.Empty()
	info, err := d.stat(ignore.HelmIgnore)
	if err == nil {
		var text []byte
		if text, err = d.read(ignore.HelmIgnore, info); err == nil {
			d.rules, err = ignore.Parse(bytes.NewReader(text))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.rules.AddDefaults()
	return nil
}

// walk reads the files below the directory name. above has its parent directories: a link
// to one of them would be an endless loop.
func (d *directory) walk(name string, above []fs.FileInfo) error {
	entries, err := fs.ReadDir(d.root.FS(), name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		below := path.Join(name, e.Name())
		info, err := d.stat(below)
		if err != nil && !d.ignoresLink(below, e) {
			return err
		}
		if err != nil || d.rules.Ignore(below, info) {
			continue
		}
		if !info.IsDir() {
			if err := d.add(below, info); err != nil {
				return err
			}
			continue
		}
		if slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, info) }) {
			return fmt.Errorf("%s is a link to one of its parent directories: remove the link", below)
		}
		if err := d.walk(below, append(slices.Clip(above), info)); err != nil {
			return err
		}
	}
	return nil
}

// ignoresLink reports whether .helmignore ignores a link to the outside. It checks the
// rules for files and for directories, because the target is not read.
func (d *directory) ignoresLink(name string, e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && (d.rules.Ignore(name, info) || d.rules.Ignore(name, asDirectory{info}))
}

type asDirectory struct{ fs.FileInfo }

func (asDirectory) IsDir() bool { return true }

// stat follows links within the chart.
func (d *directory) stat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return info, err
	}
	if info, err = d.root.Stat(name); err != nil {
		to, _ := d.root.Readlink(name)
		return nil, fmt.Errorf("%s is a link to %s, which is not in the chart: replace the link with a copy, or add it to %s (%w)", name, to, ignore.HelmIgnore, err)
	}
	return info, nil
}

func (d *directory) add(name string, info fs.FileInfo) error {
	data, err := d.read(name, info)
	if err != nil {
		return err
	}
	if d.left -= int64(len(data)); d.left < 0 {
		return fmt.Errorf("it is larger than %d bytes", maxTotal)
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")) // as Helm does
	d.files = append(d.files, &archive.BufferedFile{Name: name, ModTime: info.ModTime(), Data: data})
	return nil
}

func (d *directory) read(name string, info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file (%s)", name, info.Mode().Type())
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return data, err
}
