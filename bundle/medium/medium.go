// Package medium judges the medium of a bundle on the connected host: whether the servers can read its
// file system, and how long the bundle takes to be read on the site.
package medium

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/facts"
)

// Medium is the file system of a directory, with the data that decides which hosts can read it.
type Medium struct {
	Mount string // the mount point
	Type  string // as mount(8) names it; of FUSE the type on the disk: "ntfs"
	// Version is the one in udev's data: the revision of UDF.
	Version  string
	Features []Feature // of XFS and ext4
	// Unread is why the features are unknown: only root can read the device.
	Unread  error
	Crypt   *Crypt // of an encrypted medium
	Mkfs    [2]int // of XFS: the version of mkfs.xfs here; zero if it is unknown
	Device  string // with the file system: "/dev/sdb1"
	Carried bool   // a disk that can be unplugged, or an image
	Root    bool   // on the disk of this host's root directory
}

// Crypt is the encryption of a medium.
type Crypt struct {
	Kind string // "LUKS2", "LUKS1", "BITLK", "TCRYPT", "PLAIN"
	KDF  string // "argon2id"; "" if only root can read it
}

// Read reads the medium of a directory. The directory can be missing.
func Read(ctx context.Context, dir string) (*Medium, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for {
		at, err := filepath.EvalSymlinks(abs)
		if err == nil {
			return read(ctx, host.Local{}, at)
		}
		if up := filepath.Dir(abs); errors.Is(err, fs.ErrNotExist) && up != abs {
			abs = up
			continue
		}
		return nil, err
	}
}

// read reads the medium of an existing directory.
func read(ctx context.Context, h host.Host, dir string) (*Medium, error) {
	fsys := h.FS()
	on, err := facts.MountOf(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("read the medium of %s: %w", dir, err)
	}
	m := &Medium{Mount: on.Point, Type: on.Type}
	devices := host.BlockDevices(fsys, numberOf(fsys, on))
	if len(devices) == 0 {
		return m, nil
	}
	m.Device = "/dev/" + devices[0].Name
	if devices[0].Mapped != "" {
		m.Device = on.Source
	}
	m.Carried = slices.ContainsFunc(devices, func(d host.BlockDevice) bool { return d.Carried })
	m.Root = sameDisk(devices, rootDevices(fsys))
	udev := udevData(fsys, devices[0].Number)
	m.Version = udev["ID_FS_VERSION"]
	if strings.HasPrefix(m.Type, "fuse") && udev["ID_FS_TYPE"] != "" {
		m.Type = udev["ID_FS_TYPE"]
	}
	super, err := superblock(fsys, devices[0].Name)
	switch {
	case err == nil:
		m.Type, m.Features = super.typeOr(m.Type), super.features()
	case m.Type == "xfs":
		m.Features, m.Unread = xfsInfo(ctx, h, on.Point)
	default:
		m.Unread = err
	}
	if m.Type == "xfs" {
		m.Mkfs = mkfsXFS(ctx, h)
	}
	m.Crypt = cryptOf(fsys, devices)
	return m, nil
}

// numberOf is the number of the device with the file system. Mounts of Btrfs have a number of no device.
func numberOf(fsys fs.FS, on facts.Mount) string {
	if !strings.HasPrefix(on.Device, "0:") {
		return on.Device
	}
	name, is := strings.CutPrefix(on.Source, "/dev/")
	if !is {
		return ""
	}
	text, _ := fs.ReadFile(fsys, "sys/class/block/"+filepath.Base(name)+"/dev")
	return strings.TrimSpace(string(text))
}

func rootDevices(fsys fs.FS) []host.BlockDevice {
	on, err := facts.MountOf(fsys, "/")
	if err != nil {
		return nil
	}
	return host.BlockDevices(fsys, numberOf(fsys, on))
}

func sameDisk(a, b []host.BlockDevice) bool {
	return slices.ContainsFunc(a, func(x host.BlockDevice) bool {
		return slices.ContainsFunc(b, func(y host.BlockDevice) bool { return x.Disk == y.Disk })
	})
}

// udevData are the properties that udev found on a device. Every user can read them.
func udevData(fsys fs.FS, number string) map[string]string {
	text, _ := fs.ReadFile(fsys, "run/udev/data/b"+number)
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if property, is := strings.CutPrefix(strings.TrimSpace(line), "E:"); is {
			key, value, _ := strings.Cut(property, "=")
			values[key] = value
		}
	}
	return values
}

// cryptOf is the encryption of the first encrypted layer.
func cryptOf(fsys fs.FS, devices []host.BlockDevice) *Crypt {
	for i, d := range devices {
		kind, is := strings.CutPrefix(d.Mapped, "CRYPT-")
		if !is {
			continue
		}
		kind, _, _ = strings.Cut(kind, "-")
		c := &Crypt{Kind: kind}
		if i+1 < len(devices) {
			c.KDF = luksKDF(fsys, devices[i+1].Name)
		}
		return c
	}
	return nil
}
