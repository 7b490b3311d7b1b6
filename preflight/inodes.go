package preflight

import (
	"fmt"
	"slices"
	"strings"
)

var inodesFail = Limit{
	Check: "inodes", Name: "fail", Unit: Percent, Default: always(5),
	About: "Least part of a file system's inodes that is free. Default 5%, as the kubelet evicts below that.",
}

var inodesWarn = Limit{
	Check: "inodes", Name: "warn", Unit: Percent, Default: always(10),
	About: "Part of a file system's free inodes below which there is a warning. Default 10%.",
}

var inodes = Check{
	ID: "inodes", Title: "Inodes", Source: "kubelet: eviction signals nodefs.inodesFree, imagefs.inodesFree",
	Breaks: "With bytes left no file can be made: the kubelet evicts pods and deletes images.",
	Limits: []Limit{inodesFail, inodesWarn}, Needs: []string{"filesystems"}, Run: judgeInodes,
}

// judgeInodes counts only file systems that have a number of inodes: btrfs has none.
func judgeInodes(f *Facts, w *Want) Result {
	var found []string
	status, least, enough := Pass, w.limit(inodesFail), w.limit(inodesWarn)
	for _, fsys := range f.counted(w) {
		free := fsys.InodesFree * 100 / fsys.Inodes
		found = append(found, fmt.Sprintf("%d %% free on %s", free, fsys.Mount))
		switch {
		case free < least:
			status = Fail
		case free < enough:
			status = worse(status, Warn)
		}
	}
	switch {
	case len(found) == 0:
		return pass("no file system with a fixed number")
	case status == Pass:
		return pass("%s", strings.Join(found, ", "))
	}
	return Result{status, strings.Join(found, ", "), fmt.Sprintf("%d %% or more", enough),
		"delete small files there (du --inodes -d 3 PATH | sort -n shows where), or make the file system anew with more inodes"}
}

// counted are the file systems with a number of inodes that the cluster writes to, each once.
func (f *Facts) counted(w *Want) []Filesystem {
	paths := []string{w.imagesPath(), kubeletPath}
	if w.Is(ControlPlane) {
		paths = append(paths, etcdPath)
	}
	if w.Is(Registry) {
		paths = append(paths, storePath)
	}
	var counted []Filesystem
	for _, p := range paths {
		fsys := f.filesystem(p)
		same := func(other Filesystem) bool { return other.Device == fsys.Device }
		if fsys.Inodes > 0 && !slices.ContainsFunc(counted, same) {
			counted = append(counted, fsys)
		}
	}
	return counted
}
