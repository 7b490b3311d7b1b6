package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var mountNoexec = Check{
	ID: "mount-noexec", Title: "Mount options allow containers", Source: "k3s#7296, mount manual",
	Breaks: "Programs of containers do not start from a file system that is mounted with noexec, and nothing can be installed on a read-only one.",
	Needs:  []string{"filesystems", "bootMounts"}, Run: judgeMountOptions,
}

func judgeMountOptions(f *facts.Facts, w *Want) Result {
	if readOnly := readOnlyDirs(f, w); len(readOnly) > 0 {
		return Result{Fail, "read-only: " + strings.Join(readOnly, ", "), "rw: the packages and the cluster write there",
			"remove ro from the options in /etc/fstab and run mount -o remount,rw MOUNT; after an error of the file system (dmesg), check it with xfs_repair or fsck first"}
	}
	var noexec, other []string
	for _, p := range []string{w.imagesPath(), facts.KubeletPath, "/opt"} {
		fsys := f.Filesystem(p)
		if slices.Contains(fsys.Options, "noexec") {
			noexec = append(noexec, fmt.Sprintf("%s (%s)", p, fsys.Mount))
		} else if at := f.BootMounts.OnAt(f.Target(p), "noexec"); at != "" {
			noexec = append(noexec, fmt.Sprintf("%s (%s, from the next boot on)", p, at))
		}
		for _, option := range []string{"nosuid", "nodev"} {
			if p != "/opt" && slices.Contains(fsys.Options, option) {
				other = append(other, fmt.Sprintf("%s on %s (%s)", option, p, fsys.Mount))
			} else if at := f.BootMounts.OnAt(f.Target(p), option); p != "/opt" && at != "" {
				other = append(other, fmt.Sprintf("%s on %s (%s, from the next boot on)", option, p, at))
			}
		}
	}
	switch {
	case len(noexec) > 0:
		return Result{Fail, "noexec on " + strings.Join(noexec, ", "), "exec: containers start from there",
			"put these directories on separate file systems without noexec, or remount without it"}
	case len(other) > 0:
		return Result{Warn, strings.Join(other, ", "), "no restriction", "put these directories on separate file systems: containers that need set-uid programs or device files may fail"}
	default:
		return pass("no restriction")
	}
}

// readOnlyDirs lists the directories on read-only file systems that the installation or the cluster writes to.
func readOnlyDirs(f *facts.Facts, w *Want) []string {
	var found []string
	for _, p := range append(w.dataPaths(), "/", "/var", "/var/lib", facts.LogPath, "/opt", "/usr", "/usr/local", "/tmp", "/var/tmp") {
		if fsys := f.Filesystem(p); slices.Contains(fsys.Options, "ro") {
			found = append(found, fmt.Sprintf("%s (%s%s)", p, fsys.Mount, f.BootMounts.ReadOnlyAt(fsys.Mount)))
		} else if at := f.BootMounts.OnAt(f.Target(p), "ro"); at != "" {
			found = append(found, fmt.Sprintf("%s (%s, from the next boot on)", p, at))
		}
	}
	return found
}

var tmpNoexec = Check{
	ID: "tmp-noexec", Title: "Programs can run from temporary directories", Source: "airgap: DKMS and NVIDIA's installer unpack and run there",
	Breaks: "The build of a driver on the host fails.",
	Needs:  []string{"filesystems"}, Run: judgeTmp,
}

func judgeTmp(f *facts.Facts, w *Want) Result {
	var noexec []string
	for _, p := range []string{"/tmp", "/var/tmp"} {
		if slices.Contains(f.Filesystem(p).Options, "noexec") {
			noexec = append(noexec, p)
		}
	}
	switch {
	case len(noexec) == 0:
		return pass("no restriction")
	case w.HasRole(GPU) && f.Driver == "":
		return Result{Warn, "noexec on " + strings.Join(noexec, ", "), "a directory in which the driver can be built",
			"set TMPDIR to another file system when you build the driver; airgap does so in its own steps"}
	default:
		return pass("noexec on %s; airgap runs nothing from there", strings.Join(noexec, ", "))
	}
}
