package facts

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
)

// XFS is a mounted XFS file system.
type XFS struct {
	Device string `yaml:"device" json:"device"` // major:minor
	Ftype  bool   `yaml:"ftype" json:"ftype"`   // directory entries have a file type
	// Unknown is why Ftype is not known.
	Unknown string `yaml:"unknown,omitempty" json:"unknown,omitempty"`
}

var xfsFtype = regexp.MustCompile(`\bftype=([01])\b`)

// readXFS asks xfs_info about each XFS file system of a surveyed path, once. A server may have
// hundreds of others.
func readXFS(ctx context.Context, r reader, f *Facts) error {
	mounts, err := readMounts(r)
	if err != nil {
		return err
	}
	targets, _ := r.targets(ctx, mounts) // the probe targets reports the error
	used := map[string]bool{}
	for _, p := range surveyedPaths() {
		m, _ := mountOf(mounts, r.nearest(mounts, cmp.Or(targets[p], p)))
		used[m.point] = true
	}
	seen := map[string]bool{}
	for _, m := range mounts {
		if m.fsType != "xfs" || !used[m.point] || seen[m.device] {
			continue
		}
		seen[m.device] = true
		x := XFS{Device: m.device}
		if x.Ftype, err = r.ftype(ctx, m.point); err != nil {
			x.Unknown = err.Error()
		}
		f.XFS = append(f.XFS, x)
	}
	return nil
}

// ftype asks one file system: another one without an answer does not matter for containers.
func (r reader) ftype(ctx context.Context, point string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, dfLimit)
	defer cancel()
	out, err := r.output(ctx, "xfs_info", point)
	if err != nil {
		return false, err
	}
	ftype := xfsFtype.FindStringSubmatch(out)
	if ftype == nil {
		return false, fmt.Errorf("parse the output of xfs_info %s: ftype is missing", point)
	}
	return ftype[1] == "1", nil
}
