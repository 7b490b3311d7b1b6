package preflight

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// XFS is a mounted XFS file system.
type XFS struct {
	Device string `yaml:"device" json:"device"` // major:minor
	Ftype  bool   `yaml:"ftype" json:"ftype"`   // directories say of what kind an entry is
}

var xfsFtype = regexp.MustCompile(`\bftype=([01])\b`)

// readXFS asks xfs_info about each XFS file system, once.
func readXFS(ctx context.Context, r reader, f *Facts) error {
	mounts, err := readMounts(r)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range mounts {
		if m.fsType != "xfs" || seen[m.device] {
			continue
		}
		seen[m.device] = true
		out, err := r.output(ctx, "xfs_info", m.point)
		if err != nil {
			return err
		}
		ftype := xfsFtype.FindStringSubmatch(out)
		if ftype == nil {
			return fmt.Errorf("xfs_info %s says nothing of ftype", m.point)
		}
		f.XFS = append(f.XFS, XFS{m.device, ftype[1] == "1"})
	}
	return nil
}

var xfsType = Check{
	ID: "xfs-ftype", Title: "XFS with ftype=1", Source: "containerd: overlayfs snapshotter; kernel documentation of overlayfs",
	Breaks: "overlayfs needs directories that name their entries' kinds: images cannot be unpacked.",
	Needs:  []string{"xfs", "filesystems"}, Run: judgeXFS,
}

func judgeXFS(f *Facts, w *Want) Result {
	path := w.imagesPath()
	fsys := f.filesystem(path)
	if fsys.Type != "xfs" {
		return skipped(fmt.Sprintf("%s is on %s", path, fsys.Type))
	}
	for _, x := range f.XFS {
		if x.Device == fsys.Device && !x.Ftype {
			return Result{Fail, fmt.Sprintf("ftype=0 on %s, for %s", fsys.Mount, path), "ftype=1",
				strings.Join([]string{"give " + path + " a file system of its own: mkfs.xfs makes them with ftype=1 since Enterprise Linux 7.3",
					"an existing one cannot be changed"}, "; ")}
		}
	}
	return pass("ftype=1")
}
