package preflight

import (
	"fmt"
	"slices"
	"strings"
)

var mountNoexec = Check{
	ID: "mount-noexec", Title: "Mount options", Source: "k3s#7296",
	Breaks: "Programs of containers do not start from a file system that is mounted noexec.",
	Needs:  []string{"filesystems"}, Run: judgeMountOptions,
}

func judgeMountOptions(f *Facts, w *Want) Result {
	var noexec, other []string
	for _, p := range []string{w.imagesPath(), kubeletPath, "/opt"} {
		fsys := f.filesystem(p)
		if slices.Contains(fsys.Options, "noexec") {
			noexec = append(noexec, fmt.Sprintf("%s (%s)", p, fsys.Mount))
		}
		for _, option := range []string{"nosuid", "nodev"} {
			if p != "/opt" && slices.Contains(fsys.Options, option) {
				other = append(other, fmt.Sprintf("%s on %s (%s)", option, p, fsys.Mount))
			}
		}
	}
	switch {
	case len(noexec) > 0:
		return Result{Fail, "noexec on " + strings.Join(noexec, ", "), "exec: containers are started from there",
			"give these directories a file system of their own without noexec, or remount it"}
	case len(other) > 0:
		return Result{Warn, strings.Join(other, ", "), "no restriction", "containers that rely on set-uid programs or device files may break; mount these directories on their own"}
	default:
		return pass("no restriction")
	}
}

var tmpNoexec = Check{
	ID: "tmp-noexec", Title: "Programs may run from temporary directories", Source: "airgap: DKMS and NVIDIA's installer unpack and run there",
	Breaks: "A driver that is built on the host does not build.",
	Needs:  []string{"filesystems"}, Run: judgeTmp,
}

func judgeTmp(f *Facts, w *Want) Result {
	var noexec []string
	for _, p := range []string{"/tmp", "/var/tmp"} {
		if slices.Contains(f.filesystem(p).Options, "noexec") {
			noexec = append(noexec, p)
		}
	}
	switch {
	case len(noexec) == 0:
		return pass("no restriction")
	case w.Is(GPU) && f.Driver == "":
		return Result{Warn, "noexec on " + strings.Join(noexec, ", "), "a directory that the driver can be built in",
			"build the driver with TMPDIR on another file system; airgap gives its own steps one"}
	default:
		return pass("noexec on %s; nothing of ours runs from there", strings.Join(noexec, ", "))
	}
}
