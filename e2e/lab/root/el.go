package root

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

//go:embed el
var elFiles embed.FS

// el makes the upper layer by working in a root that has both.
func (b builder) el(ctx context.Context, debian string, cfg Config) (string, error) {
	files, err := fs.Sub(elFiles, "el")
	if err != nil {
		return "", err
	}
	kernel, modules, err := builtinModules()
	if err != nil {
		return "", err
	}
	rpm, err := os.ReadFile(cfg.BaseRPM)
	if err != nil {
		return "", err
	}
	key, err := os.ReadFile(cfg.VendorKey)
	if err != nil {
		return "", err
	}
	recipe := bytes.NewBufferString(filepath.Base(debian))
	for _, part := range [][]byte{rpm, key, []byte(kernel), modules} {
		recipe.Write(part)
	}
	if err := writeAll(recipe, files); err != nil {
		return "", err
	}
	return b.layer("el9", recipe.Bytes(), func(dir string) error {
		return b.stacked(debian, dir, func(root string) error {
			return b.dress(ctx, root, files, kernel, modules, rpm, key)
		})
	})
}

// dress turns the Debian at root into an EL9 for those who ask.
func (b builder) dress(ctx context.Context, root string, files fs.FS, kernel string, modules, rpm, key []byte) error {
	// os.CopyFS does not overwrite.
	for _, old := range []string{"usr/lib/os-release", "etc/dnf/dnf.conf", "etc/resolv.conf"} {
		if err := os.RemoveAll(filepath.Join(root, old)); err != nil {
			return err
		}
	}
	if err := os.CopyFS(root, files); err != nil {
		return err
	}
	moduleDir := filepath.Join("lib/modules", kernel)
	for path, data := range map[string][]byte{
		filepath.Join(moduleDir, "modules.builtin"): modules,
		filepath.Join(moduleDir, "modules.order"):   nil,
		"etc/pki/rpm-gpg/RPM-GPG-KEY-Rocky-9":       key,
		"etc/machine-id":                            nil, // systemd fills it at first boot
		"base.rpm":                                  rpm,
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	for _, argv := range [][]string{
		{"chroot", root, "depmod", "--all", kernel},
		{"chroot", root, "rpm", "--install", "--force-debian", "/base.rpm"},
	} {
		if err := b.run(ctx, argv...); err != nil {
			return err
		}
	}
	return os.Remove(filepath.Join(root, "base.rpm"))
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

// writeAll writes the names and contents of all files to w.
func writeAll(w *bytes.Buffer, files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		fmt.Fprintf(w, "%s %d\n%s", path, len(data), data)
		return err
	})
}
