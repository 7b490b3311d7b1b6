package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// stickDevice is the stick's name in QEMU and its serial number in the machine.
const stickDevice = "stick"

// AttachStick implements Machine: it copies dir to a FAT32 image, attaches it to the USB
// port and mounts it as an administrator would.
func (e *Emulated) AttachStick(ctx context.Context, dir string) error {
	if err := makeFAT(ctx, dir, e.path(stickFile)); err != nil {
		return fmt.Errorf("attach stick %s: %w", dir, err)
	}
	if err := e.plugStick(ctx, true); err != nil {
		return fmt.Errorf("attach stick %s to %s: %w", dir, e.name, err)
	}
	return nil
}

// AttachEmptyStick implements Machine.
func (e *Emulated) AttachEmptyStick(ctx context.Context, filesystem string, size int64) error {
	image := e.path(stickFile)
	format := map[string][]string{
		"vfat":  {"mkfs.vfat", "-F", "32", "-n", "STICK", image},
		"exfat": {"mkfs.exfat", "-L", "STICK", image},
	}[filesystem]
	if err := newImage(ctx, image, size, format...); err != nil {
		return fmt.Errorf("attach an empty stick (%s): %w", filesystem, err)
	}
	return e.ReplugStick(ctx)
}

// ReplugStick implements Machine.
func (e *Emulated) ReplugStick(ctx context.Context) error {
	if err := e.plugStick(ctx, false); err != nil {
		return fmt.Errorf("attach a stick to %s: %w", e.name, err)
	}
	return nil
}

// plugStick attaches the stick and mounts it. mount detects the file system.
func (e *Emulated) plugStick(ctx context.Context, readOnly bool) error {
	if err := e.insertStick(ctx, readOnly); err != nil {
		return err
	}
	mode := "rw"
	if readOnly {
		mode = "ro"
	}
	const mount = `udevadm wait --timeout=60 "$1" && mkdir -p "$2" && mount -o "$3",nosuid,nodev "$1" "$2"`
	return e.Exec(ctx, Cmd{Args: []string{"sh", "-c", mount, "sh", "/dev/disk/by-id/usb-QEMU_QEMU_HARDDISK_" + stickDevice + "-0:0", StickPath, mode}})
}

func (e *Emulated) insertStick(ctx context.Context, readOnly bool) error {
	m, err := openMonitor(ctx, e.path(monitorFile))
	if err != nil {
		return err
	}
	defer m.conn.Close()
	if err := m.do("blockdev-add", map[string]any{
		"node-name": stickDevice, "driver": "raw", "read-only": readOnly,
		"file": map[string]any{"driver": "file", "filename": e.path(stickFile)},
	}); err != nil {
		return err
	}
	return m.do("device_add", map[string]any{
		"id": stickDevice, "driver": "usb-storage", "bus": "usb.0", "drive": stickDevice, "serial": stickDevice,
	})
}

// PullStick implements Machine. Programs that read from the stick get an I/O error. It
// also removes the dead mount, as desktops and systemd do.
func (e *Emulated) PullStick(ctx context.Context) error {
	if err := e.unplugStick(ctx); err != nil {
		return fmt.Errorf("pull the stick of %s: %w", e.name, err)
	}
	return e.Exec(ctx, Cmd{Args: []string{"umount", "--lazy", StickPath}})
}

func (e *Emulated) unplugStick(ctx context.Context) error {
	m, err := openMonitor(ctx, e.path(monitorFile))
	if err != nil {
		return err
	}
	defer m.conn.Close()
	if err := m.do("device_del", map[string]any{"id": stickDevice}); err != nil {
		return err
	}
	if err := m.await("DEVICE_DELETED", stickDevice); err != nil {
		return err
	}
	return m.do("blockdev-del", map[string]any{"node-name": stickDevice})
}

// makeFAT makes an image of a stick, formatted with FAT32 and without a partition table,
// that contains the files of dir.
func makeFAT(ctx context.Context, dir, image string) error {
	entries, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	size, err := fatSize(dir)
	if err != nil {
		return err
	}
	if err := newImage(ctx, image, size, "mkfs.vfat", "-F", "32", "-n", "STICK", image); err != nil || len(entries) == 0 {
		return err
	}
	_, err = outer(ctx, "", append(append([]string{"mcopy", "-s", "-m", "-Q", "-i", image}, entries...), "::")...)
	return err
}

// newImage makes a sparse disk image of size bytes and formats it.
func newImage(ctx context.Context, image string, size int64, format ...string) error {
	f, err := os.Create(image)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return err
	}
	_, err = outer(ctx, "", format...)
	return err
}

// fatSize is the size in bytes of a stick on which dir fits: every file takes whole
// clusters, and each cluster takes four bytes in both copies of the table. FAT32 has at
// least 65,525 clusters.
func fatSize(dir string) (int64, error) {
	const cluster, least = 32 << 10, 64 << 20
	var clusters int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		clusters += info.Size()/cluster + 1
		return nil
	})
	return least + clusters*(cluster+2*4), err
}
