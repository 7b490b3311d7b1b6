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

// Bounds of a chart, Helm's own ones for archives.
const (
	maxFile  = 5 << 20
	maxTotal = 100 << 20
)

// directory reads a chart as Helm does, by an os.Root, which no link leads out of.
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

// walk reads what is below the directory name. above are the directories on the way
// there: a link to one of them has no end.
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
			return fmt.Errorf("%s is a link to a directory that it lies in: remove it", below)
		}
		if err := d.walk(below, append(slices.Clip(above), info)); err != nil {
			return err
		}
	}
	return nil
}

// ignoresLink judges a link that leads nowhere in the chart: by rules for files, and by
// those for directories, since what it leads to is not looked at.
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
		return nil, fmt.Errorf("%s is a link to %s, which is not in the chart: put a copy in its place, or name it in %s (%w)", name, to, ignore.HelmIgnore, err)
	}
	return info, nil
}

func (d *directory) add(name string, info fs.FileInfo) error {
	data, err := d.read(name, info)
	if err != nil {
		return err
	}
	if d.left -= int64(len(data)); d.left < 0 {
		return fmt.Errorf("it holds more than %d bytes", maxTotal)
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")) // as Helm does
	d.files = append(d.files, &archive.BufferedFile{Name: name, ModTime: info.ModTime(), Data: data})
	return nil
}

func (d *directory) read(name string, info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file (%s)", name, info.Mode().Type())
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is longer than %d bytes", name, maxFile)
	}
	return data, err
}
