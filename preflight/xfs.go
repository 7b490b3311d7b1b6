package preflight

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var xfsType = Check{
	ID: "xfs-ftype", Title: "XFS has ftype=1", Source: "containerd: overlayfs snapshotter; kernel documentation of overlayfs",
	Breaks: "overlayfs requires directory entries with a file type: images cannot be unpacked.",
	Needs:  []string{"xfs", "filesystems"}, Run: judgeXFS,
}

func judgeXFS(f *facts.Facts, w *Want) Result {
	path := w.imagesPath()
	fsys := f.Filesystem(path)
	if fsys.Type != "xfs" {
		return skipped(fmt.Sprintf("%s is on %s", path, fsys.Type))
	}
	for _, x := range f.XFS {
		if x.Device == fsys.Device && x.Unknown != "" {
			return Result{Error, "unknown: " + x.Unknown, "ftype=1", "run xfs_info " + fsys.Mount + ", as root"}
		}
		if x.Device == fsys.Device && !x.Ftype {
			return Result{Fail, fmt.Sprintf("ftype=0 on %s, for %s", fsys.Mount, path), "ftype=1",
				strings.Join([]string{"put " + path + " on a new file system: mkfs.xfs sets ftype=1 since Enterprise Linux 7.3",
					"an existing file system cannot be changed"}, "; ")}
		}
	}
	return pass("ftype=1")
}
