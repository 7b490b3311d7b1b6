package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var inodesFail = Limit{
	Check: "inodes", Name: "fail", Unit: Percent, Default: always(5),
	About: "Least share of free inodes of a file system. Default 5%: the kubelet evicts pods below that.",
}

var inodesWarn = Limit{
	Check: "inodes", Name: "warn", Unit: Percent, Default: always(10),
	About: "Share of free inodes of a file system below which the check warns. Default 10%.",
}

var inodes = Check{
	ID: "inodes", Title: "File systems have enough free inodes", Source: "kubelet: eviction signals nodefs.inodesFree, imagefs.inodesFree",
	Breaks: "No file can be created, even with free space: the kubelet evicts pods and deletes images.",
	Limits: []Limit{inodesFail, inodesWarn}, Needs: []string{"filesystems"}, Run: judgeInodes,
}

// judgeInodes skips file systems without a fixed number of inodes, such as btrfs.
func judgeInodes(f *facts.Facts, w *Want) Result {
	want := fmt.Sprintf("%d %% or more", w.limit(inodesWarn))
	if why := f.Unanswered(w.dataPaths()...); len(why) > 0 {
		return unknownSpace(why, want)
	}
	var found []string
	status, least, enough := Pass, w.limit(inodesFail), w.limit(inodesWarn)
	for _, fsys := range withInodes(f, w) {
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
		return pass("no file system with a fixed number of inodes")
	case status == Pass:
		return pass("%s", strings.Join(found, ", "))
	}
	return Result{status, strings.Join(found, ", "), want,
		"delete small files there (du --inodes -d 3 PATH | sort -n shows where), or create the file system again with more inodes"}
}

// withInodes are the file systems with a fixed number of inodes that the cluster writes to, each once.
func withInodes(f *facts.Facts, w *Want) []facts.Filesystem {
	var counted []facts.Filesystem
	for _, p := range w.dataPaths() {
		fsys := f.Filesystem(p)
		same := func(other facts.Filesystem) bool { return other.Device == fsys.Device }
		if fsys.Inodes > 0 && !slices.ContainsFunc(counted, same) {
			counted = append(counted, fsys)
		}
	}
	return counted
}
