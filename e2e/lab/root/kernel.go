package root

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// machinePackages are the packages that an emulated machine needs in addition: a kernel with
// all its modules, an initrd, and udev. NetworkManager gets the interfaces from udev. AppArmor is on, as in Debian.
var machinePackages = []string{"apparmor", "initramfs-tools", kernelPackage, "network-manager", "udev"}

const kernelPackage = "linux-image-amd64"

// kernelFiles keep the initrd small, because a slow processor unpacks it.
var kernelFiles = map[string]string{
	"etc/initramfs-tools/conf.d/lab": "MODULES=list\n",
	"etc/initramfs-tools/hooks/lab": `#!/bin/sh
[ "$1" = prereqs ] && exit
. /usr/share/initramfs-tools/hook-functions
manual_add_modules virtio_pci virtio_blk ext4 crc32c
`,
}

// kernel makes the layer that makes a Debian for containers bootable on emulated machines. Its kernel is that of another
// suite, unless other is "".
func (b builder) kernel(ctx context.Context, debian, other string) (string, error) {
	mirror, suite, err := aptMirror(ctx)
	if err != nil {
		return "", err
	}
	recipe := fmt.Sprintln(filepath.Base(debian), suite, machinePackages, kernelFiles)
	if other != "" {
		recipe = fmt.Sprintln(other, recipe)
	}
	return b.layer("kernel", []byte(recipe), func(dir string) error {
		return b.stacked(dir, func(root string) error { return b.installKernel(ctx, mirror, suite, other, root) }, debian)
	})
}

func (b builder) installKernel(ctx context.Context, mirror, suite, other, root string) error {
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
	packages := slices.Clone(machinePackages)
	if other != "" {
		files["etc/apt/sources.list"] = fmt.Appendf(files["etc/apt/sources.list"], "deb %s %s main\n", mirror, other)
		files["etc/apt/preferences.d/lab"] = fmt.Appendf(nil, "Package: *\nPin: release n=%s\nPin-Priority: 100\n", other) // only what is asked for
		packages[slices.Index(packages, kernelPackage)] += "/" + other
	}
	if err := writeFiles(root, files, 0o755); err != nil {
		return err
	}
	install := append([]string{"chroot", root, "apt-get", "install", "--yes", "--no-install-recommends"}, packages...)
	for _, argv := range [][]string{{"chroot", root, "apt-get", "update"}, install} {
		if err := b.run(ctx, argv...); err != nil {
			return err
		}
	}
	return removeLeftovers(root)
}
