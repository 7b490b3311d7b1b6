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

// customization contains the changes that make a Debian look like EL9. Its JSON is the
// recipe of the layer.
type customization struct {
	Over     []string          // names of the layers below, the top one first
	Files    map[string][]byte // by path in the root; they replace existing files
	Commands [][]string        // to run inside the root after the files are written
}

// el makes the upper layer: it applies d in a root that stacks all layers.
func (b builder) el(ctx context.Context, d customization) (string, error) {
	recipe, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	var lower []string
	for _, name := range d.Over {
		lower = append(lower, filepath.Join(b.dir, name))
	}
	return b.layer("el9", recipe, func(dir string) error {
		return b.stacked(dir, func(root string) error { return b.customize(ctx, root, d) }, lower...)
	})
}

func newCustomization(cfg Config, lower ...string) (customization, error) {
	base, err := os.ReadFile(cfg.BaseRPM)
	if err != nil {
		return customization{}, err
	}
	key, err := os.ReadFile(cfg.VendorKey)
	if err != nil {
		return customization{}, err
	}
	d := customization{
		Files: map[string][]byte{
			"etc/pki/rpm-gpg/RPM-GPG-KEY-Rocky-9": key,
			"etc/machine-id":                      nil, // systemd fills it at first boot
			"base.rpm":                            base,
		},
		Commands: [][]string{
			{"rpm", "--install", "--force-debian", "/base.rpm"},
			{"rm", "/base.rpm"},
			{"localedef", "--inputfile=ko_KR", "--charmap=UTF-8", "ko_KR.UTF-8"},
			// A site's servers have them. The scenarios that test them switch them on.
			{"systemctl", "disable", "firewalld.service", "fapolicyd.service"},
			// EL's minimal server has no dnf plugins. A site's server has versionlock.
			{"sh", "-c", "cd /etc/dnf/plugins && find . -type f ! -name 'versionlock.*' -delete && find /usr/lib/python3/dist-packages/dnf-plugins -name '*.py' ! -name versionlock.py ! -name __init__.py -delete"},
		},
	}
	for _, layer := range lower {
		d.Over = append(d.Over, filepath.Base(layer))
	}
	return d, d.addFixed()
}

// addOuterKernel adds the files of the outer machine's kernel, on which containers run.
func (d *customization) addOuterKernel(ctx context.Context) error {
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
	if !config.Packed() { // otherwise the server has it in /proc
		d.Files["boot/config-"+m.Release] = config.Text
	}
	d.Commands = append(d.Commands, []string{"depmod", "--all", m.Release})
	return nil
}

//go:embed lab-network.service
var networkUnit []byte

// addOwnNetwork is for emulated machines, which set their address and names themselves.
func (d *customization) addOwnNetwork() {
	d.Files["etc/systemd/system/lab-network.service"] = networkUnit
	d.Commands = append(d.Commands,
		[]string{"systemctl", "enable", "lab-network.service"},
		[]string{"systemctl", "disable", "e2scrub_reap.service"},                                         // takes half a minute, and EL does not have it
		[]string{"systemctl", "disable", "NetworkManager.service", "NetworkManager-wait-online.service"}, // off by default, like firewalld
		[]string{"rm", "-f", "/etc/hosts"},                                                               // systemd-tmpfiles makes it if it is missing
	)
}

// addFixed adds the files that are the same on every kernel.
func (d customization) addFixed() error {
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

func (b builder) customize(ctx context.Context, root string, d customization) error {
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
		// Do not write through a link: its target may be outside of the root.
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			return err
		}
	}
	return nil
}

// stacked runs work on an overlay. The directory upper gets the changes. Without upper, the
// overlay is read-only.
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
