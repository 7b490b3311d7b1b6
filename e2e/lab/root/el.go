package root

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

//go:embed el
var elFiles embed.FS

// dressing turns a Debian into an EL9 for those who ask.
type dressing struct {
	Over     string            // name of the layer below
	Files    map[string][]byte // by path in the root; they replace what is there
	Commands [][]string        // to run inside the root once the files are there
}

// el makes the upper layer by working in a root that has both.
func (b builder) el(ctx context.Context, debian string, cfg Config) (string, error) {
	d, err := newDressing(debian, cfg)
	if err != nil {
		return "", err
	}
	recipe, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	return b.layer("el9", recipe, func(dir string) error {
		return b.stacked(debian, dir, func(root string) error { return b.dress(ctx, root, d) })
	})
}

func newDressing(debian string, cfg Config) (dressing, error) {
	kernel, modules, err := builtinModules()
	if err != nil {
		return dressing{}, err
	}
	base, err := os.ReadFile(cfg.BaseRPM)
	if err != nil {
		return dressing{}, err
	}
	key, err := os.ReadFile(cfg.VendorKey)
	if err != nil {
		return dressing{}, err
	}
	moduleDir := filepath.Join("lib/modules", kernel)
	d := dressing{
		Over: filepath.Base(debian),
		Files: map[string][]byte{
			filepath.Join(moduleDir, "modules.builtin"): modules,
			filepath.Join(moduleDir, "modules.order"):   nil,
			"etc/pki/rpm-gpg/RPM-GPG-KEY-Rocky-9":       key,
			"etc/machine-id":                            nil, // systemd fills it at first boot
			"base.rpm":                                  base,
		},
		Commands: [][]string{
			{"depmod", "--all", kernel},
			{"rpm", "--install", "--force-debian", "/base.rpm"},
			{"rm", "/base.rpm"},
		},
	}
	return d, d.addFixed()
}

// addFixed adds the files that are the same on every kernel.
func (d dressing) addFixed() error {
	files, err := fs.Sub(elFiles, "el")
	if err != nil {
		return err
	}
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		d.Files[path], err = fs.ReadFile(files, path)
		return err
	})
}

func (b builder) dress(ctx context.Context, root string, d dressing) error {
	for path, data := range d.Files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		// Not through a link: it may lead out of the root.
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	for _, argv := range d.Commands {
		if err := b.run(ctx, append([]string{"chroot", root}, argv...)...); err != nil {
			return err
		}
	}
	return nil
}

// stacked runs work on an overlay whose changes end up in upper.
func (b builder) stacked(lower, upper string, work func(root string) error) error {
	tmp, err := os.MkdirTemp(b.dir, "stack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	root, scratch := filepath.Join(tmp, "root"), filepath.Join(tmp, "work")
	if err := errors.Join(os.Mkdir(root, 0o755), os.Mkdir(scratch, 0o755)); err != nil {
		return err
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, scratch)
	if err := unix.Mount("overlay", root, "overlay", 0, options); err != nil {
		return fmt.Errorf("mount %s: %w", root, err)
	}
	return errors.Join(work(root), unix.Unmount(root, 0))
}
