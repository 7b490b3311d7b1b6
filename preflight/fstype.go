package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var fsType = Check{
	ID: "fs-type", Title: "File systems support containers", Source: "replicatedhq/embedded-cluster; containerd: overlayfs, kernel documentation of overlayfs",
	Breaks: "Image layers cannot be stacked on the file system, or etcd loses data in a power failure.",
	Needs:  []string{"filesystems"}, Run: judgeTypes,
}

// unfitTypes are network file systems, file systems of USB drives, and overlayfs, which does not
// stack on itself. The names of FUSE file systems begin with "fuse".
func unfitTypes() []string {
	return []string{"9p", "afs", "ceph", "cifs", "exfat", "glusterfs", "msdos", "nfs", "nfs4", "ntfs", "ntfs3", "overlay", "smb3", "smbfs", "vfat", "virtiofs"}
}

func judgeTypes(f *facts.Facts, w *Want) Result {
	paths := []string{w.imagesPath(), facts.KubeletPath}
	if w.HasRole(ControlPlane) {
		paths = append(paths, facts.EtcdPath)
	}
	var unfit, fine []string
	for _, p := range paths {
		fsys := f.Filesystem(p)
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
