package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var bootMounts = Check{
	ID: "boot-mounts", Title: "Data directories have the same file systems after a reboot", Source: "systemd.unit, systemd.mount and fstab manuals; airgap",
	Breaks: "etcd, the kubelet or the runtime would start on an empty directory of another file system after the next boot.",
	Needs:  []string{"bootMounts", "filesystems", "targets"}, Run: judgeBootMounts,
}

// judgeBootMounts compares the mounts of today with those of the next boot. A mount that may be
// missing is only a warning: install makes the kubelet and the runtime wait for it.
func judgeBootMounts(f *facts.Facts, w *Want) Result {
	if f.BootMounts.Container != "" {
		return skipped("a container: " + f.BootMounts.Container + " mounts its file systems")
	}
	var wrong, weak []string
	for _, p := range w.dataPaths() {
		differs, warning := mountChange(f, p)
		if differs != "" && !slices.Contains(wrong, differs) {
			wrong = append(wrong, differs)
		}
		if warning != "" && !slices.Contains(weak, warning) {
			weak = append(weak, warning)
		}
	}
	switch {
	case len(wrong) > 0:
		return Result{Fail, strings.Join(slices.Concat(wrong, weak, f.BootMounts.Odd[:min(len(f.BootMounts.Odd), 3)]), "; "), "the same file system after a reboot",
			"mount the file system with a line in /etc/fstab (UUID=… from blkid), then run systemctl daemon-reload, mount -a and findmnt --verify"}
	case len(weak) > 0:
		return Result{Warn, strings.Join(weak, "; "), "a file system without which the host does not boot",
			"remove the option from the line, use UUID=… instead of a device name that can change, and run systemctl daemon-reload; install makes the kubelet and the runtime wait for the file system"}
	}
	return pass("the same")
}

// mountChange describes how the file system of a path differs after a reboot, and why it may.
func mountChange(f *facts.Facts, p string) (differs, weak string) {
	now, target := f.Filesystem(p), f.Target(p)
	next, mounted := f.BootMounts.At(target)
	switch {
	case now.Type == "zfs" || now.Type == "autofs": // their own services mount them
		return "", ""
	case !mounted && now.Mount != "/":
		return fmt.Sprintf("%s is on %s, mounted at %s, and neither /etc/fstab nor a mount unit mounts it at the next boot", p, now.Source, now.Mount), ""
	case !mounted:
		return "", ""
	case len(next.Mount) < len(now.Mount):
		return fmt.Sprintf("%s is on %s, mounted at %s; only %s mounts %s at the next boot", p, now.Source, now.Mount, next.At(), next.Mount), ""
	case next.Mount != now.Mount:
		return fmt.Sprintf("%s mounts %s at %s, for %s; it is not mounted now", next.At(), next.Spec, next.Mount, p), ""
	case next.Missing:
		return fmt.Sprintf("%s mounts %s at %s, for %s; no disk of this host has that name", next.At(), next.Spec, next.Mount, p), ""
	case next.Device != "" && now.Disk != "" && next.Device != now.Disk:
		return fmt.Sprintf("%s mounts %s at %s, for %s; now %s is mounted there", next.At(), next.Spec, next.Mount, p, now.Source), ""
	}
	return "", next.Weakness(now.Type)
}
