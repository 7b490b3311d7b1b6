package root

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
)

// An Image is a directory with the boot files and the disk of an emulated machine.
type Image string

// Disk is an ext4 file system. Do not write to it.
func (i Image) Disk() string { return filepath.Join(string(i), "disk.img") }

// Kernel is the kernel to boot.
func (i Image) Kernel() string { return filepath.Join(string(i), "vmlinuz") }

// Initrd is the initrd that loads the modules for the disk.
func (i Image) Initrd() string { return filepath.Join(string(i), "initrd.img") }

// HostKey is the public key of the system's sshd, in the format of authorized_keys.
func (i Image) HostKey() string { return filepath.Join(string(i), "ssh_host_ed25519_key.pub") }

// diskSize is enough for the preflight checks of a control-plane host and for a bundle. The
// file is sparse.
const diskSize = "80G"

// BuildImage makes the missing layers and returns the image. It needs root. Progress gets
// the name of each layer that it makes.
func BuildImage(ctx context.Context, cfg Config, progress io.Writer) (Image, error) {
	b, unlock, err := newBuilder(cfg, progress)
	if err != nil {
		return "", fmt.Errorf("build machine image: %w", err)
	}
	defer unlock()
	image, err := b.image(ctx, cfg)
	if err != nil {
		return "", fmt.Errorf("build machine image: %w", err)
	}
	return image, nil
}

func (b builder) image(ctx context.Context, cfg Config) (Image, error) {
	debian, err := b.debian(ctx)
	if err != nil {
		return "", err
	}
	kernel, err := b.kernel(ctx, debian)
	if err != nil {
		return "", err
	}
	d, err := newCustomization(cfg, kernel, debian)
	if err != nil {
		return "", err
	}
	d.addOwnNetwork()
	el, err := b.el(ctx, d)
	if err != nil {
		return "", err
	}
	recipe := fmt.Sprintln(diskSize, filepath.Base(el))
	dir, err := b.layer("image", []byte(recipe), func(dir string) error {
		return b.stacked("", func(root string) error { return b.pack(ctx, root, Image(dir)) }, el, kernel, debian)
	})
	return Image(dir), err
}

// pack makes an image from a root.
func (b builder) pack(ctx context.Context, root string, image Image) error {
	if err := b.run(ctx, "mkfs.ext4", "-q", "-d", root, image.Disk(), diskSize); err != nil {
		return err
	}
	for pattern, file := range map[string]string{
		"boot/vmlinuz-*":                   image.Kernel(),
		"boot/initrd.img-*":                image.Initrd(),
		"etc/ssh/ssh_host_ed25519_key.pub": image.HostKey(),
	} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("got %d files, want 1", len(found))
		}
		if err != nil {
			return fmt.Errorf("find %s: %w", pattern, err)
		}
		if err := b.run(ctx, "cp", found[0], file); err != nil {
			return err
		}
	}
	return nil
}
