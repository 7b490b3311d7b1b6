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
	"strings"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/e2e/lab/kernel"
)

//go:embed el
var elFiles embed.FS

// dressing turns a Debian into an EL9 for those who ask.
type dressing struct {
	Over     []string          // names of the layers below, the top one first
	Files    map[string][]byte // by path in the root; they replace what is there
	Commands [][]string        // to run inside the root once the files are there
}

// el makes the upper layer by working in a root that has all of them.
func (b builder) el(ctx context.Context, d dressing) (string, error) {
	recipe, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	var lower []string
	for _, name := range d.Over {
		lower = append(lower, filepath.Join(b.dir, name))
	}
	return b.layer("el9", recipe, func(dir string) error {
		return b.stacked(dir, func(root string) error { return b.dress(ctx, root, d) }, lower...)
	})
}

func newDressing(cfg Config, lower ...string) (dressing, error) {
	base, err := os.ReadFile(cfg.BaseRPM)
	if err != nil {
		return dressing{}, err
	}
	key, err := os.ReadFile(cfg.VendorKey)
	if err != nil {
		return dressing{}, err
	}
	d := dressing{
		Files: map[string][]byte{
			"etc/pki/rpm-gpg/RPM-GPG-KEY-Rocky-9": key,
			"etc/machine-id":                      nil, // systemd fills it at first boot
			"base.rpm":                            base,
		},
		Commands: [][]string{
			{"rpm", "--install", "--force-debian", "/base.rpm"},
			{"rm", "/base.rpm"},
			// A bank's servers have them; a scenario that is about them switches them on.
			{"systemctl", "disable", "firewalld.service", "fapolicyd.service"},
			// Of dnf's plugins EL's minimal server has none, a bank's versionlock.
			{"sh", "-c", "cd /etc/dnf/plugins && find . -type f ! -name 'versionlock.*' -delete && find /usr/lib/python3/dist-packages/dnf-plugins -name '*.py' ! -name versionlock.py ! -name __init__.py -delete"},
		},
	}
	for _, layer := range lower {
		d.Over = append(d.Over, filepath.Base(layer))
	}
	return d, d.addFixed()
}

// addOuterKernel is for containers, whose kernel is the outer machine's.
func (d *dressing) addOuterKernel(ctx context.Context) error {
	m, err := kernel.This()
	if err != nil {
		return err
	}
	config, err := m.Config()
	if err != nil {
		return err
	}
	modules, err := m.Builtin(ctx, config)
	if err != nil {
		return err
	}
	dir := filepath.Join("lib/modules", m.Release)
	d.Files[filepath.Join(dir, "modules.builtin")] = modules
	d.Files[filepath.Join(dir, "modules.order")] = nil
	if !config.Packed() { // else it is in the server's /proc, too
		d.Files["boot/config-"+m.Release] = config.Text
	}
	d.Commands = append(d.Commands, []string{"depmod", "--all", m.Release})
	return nil
}

//go:embed lab-network.service
var networkUnit []byte

// addOwnNetwork is for machines, whose address and names nobody sets from
// outside.
func (d *dressing) addOwnNetwork() {
	d.Files["etc/systemd/system/lab-network.service"] = networkUnit
	d.Commands = append(d.Commands,
		[]string{"systemctl", "enable", "lab-network.service"},
		[]string{"systemctl", "disable", "e2scrub_reap.service"},                                         // half a minute, and not EL's
		[]string{"systemctl", "disable", "NetworkManager.service", "NetworkManager-wait-online.service"}, // as firewalld
		[]string{"rm", "-f", "/etc/hosts"},                                                               // systemd-tmpfiles makes it where it is missing
	)
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
	if err := writeFiles(root, d.Files, 0o644); err != nil {
		return err
	}
	for _, argv := range d.Commands {
		if err := b.run(ctx, append([]string{"chroot", root}, argv...)...); err != nil {
			return err
		}
	}
	return nil
}

func writeFiles(root string, files map[string][]byte, mode fs.FileMode) error {
	for path, data := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		// Not through a link: it may lead out of the root.
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			return err
		}
	}
	return nil
}

// stacked runs work on an overlay whose changes end up in upper; with no upper
// there are none to be made.
func (b builder) stacked(upper string, work func(root string) error, lower ...string) error {
	tmp, err := os.MkdirTemp(b.dir, "stack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	root, scratch := filepath.Join(tmp, "root"), filepath.Join(tmp, "work")
	if err := errors.Join(os.Mkdir(root, 0o755), os.Mkdir(scratch, 0o755)); err != nil {
		return err
	}
	options := "lowerdir=" + strings.Join(lower, ":")
	if upper != "" {
		options += fmt.Sprintf(",upperdir=%s,workdir=%s", upper, scratch)
	}
	if err := unix.Mount("overlay", root, "overlay", 0, options); err != nil {
		return fmt.Errorf("mount %s: %w", root, err)
	}
	return errors.Join(work(root), unix.Unmount(root, 0))
}
