package preflight

import (
	"fmt"
	"slices"
	"strings"
)

var fsType = Check{
	ID: "fs-type", Title: "File systems that can hold containers", Source: "replicatedhq/embedded-cluster; containerd: overlayfs, kernel documentation of overlayfs",
	Breaks: "Layers of images cannot be stacked on it, or what etcd wrote is not there after a power cut.",
	Needs:  []string{"filesystems"}, Run: judgeTypes,
}

// unfitTypes are those of a network, of sticks, and overlayfs, which does not stack on
// itself. FUSE's have "fuse" before their own name.
func unfitTypes() []string {
	return []string{"9p", "afs", "ceph", "cifs", "exfat", "glusterfs", "msdos", "nfs", "nfs4", "ntfs", "ntfs3", "overlay", "smb3", "smbfs", "vfat", "virtiofs"}
}

func judgeTypes(f *Facts, w *Want) Result {
	paths := []string{w.imagesPath(), kubeletPath}
	if w.Is(ControlPlane) {
		paths = append(paths, etcdPath)
	}
	var unfit, fine []string
	for _, p := range paths {
		fsys := f.filesystem(p)
		text := fmt.Sprintf("%s on %s", fsys.Type, p)
		if slices.Contains(unfitTypes(), fsys.Type) || strings.HasPrefix(fsys.Type, "fuse") {
			unfit = append(unfit, text)
		} else {
			fine = append(fine, text)
		}
	}
	if len(unfit) > 0 {
		return Result{Fail, strings.Join(unfit, ", "), "xfs or ext4, on a disk of this host", "mount a disk of this host there, with xfs or ext4"}
	}
	return pass("%s", strings.Join(fine, ", "))
}
