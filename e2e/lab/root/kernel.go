package root

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// machinePackages are the packages that an emulated machine needs in addition: a kernel with
// all its modules, an initrd, and udev. NetworkManager gets the interfaces from udev.
var machinePackages = []string{"initramfs-tools", "linux-image-amd64", "network-manager", "udev"}

// kernelFiles keep the initrd small, because a slow processor unpacks it.
var kernelFiles = map[string]string{
	"etc/initramfs-tools/conf.d/lab": "MODULES=list\n",
	"etc/initramfs-tools/hooks/lab": `#!/bin/sh
[ "$1" = prereqs ] && exit
. /usr/share/initramfs-tools/hook-functions
manual_add_modules virtio_pci virtio_blk ext4 crc32c
`,
}

// kernel makes the layer that makes a Debian for containers bootable on emulated machines.
func (b builder) kernel(ctx context.Context, debian string) (string, error) {
	mirror, suite, err := aptMirror(ctx)
	if err != nil {
		return "", err
	}
	recipe := fmt.Sprintln(filepath.Base(debian), suite, machinePackages, kernelFiles)
	return b.layer("kernel", []byte(recipe), func(dir string) error {
		return b.stacked(dir, func(root string) error { return b.installKernel(ctx, mirror, suite, root) }, debian)
	})
}

func (b builder) installKernel(ctx context.Context, mirror, suite, root string) error {
	// apt needs this machine's name server. The EL layer later sets the site's.
	resolver, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"etc/apt/sources.list": fmt.Appendf(nil, "deb %s %s main\n", mirror, suite),
		"etc/resolv.conf":      resolver,
	}
	for path, text := range kernelFiles {
		files[path] = []byte(text)
	}
	if err := writeFiles(root, files, 0o755); err != nil {
		return err
	}
	install := append([]string{"chroot", root, "apt-get", "install", "--yes", "--no-install-recommends"}, machinePackages...)
	for _, argv := range [][]string{{"chroot", root, "apt-get", "update"}, install} {
		if err := b.run(ctx, argv...); err != nil {
			return err
		}
	}
	return removeLeftovers(root)
}
