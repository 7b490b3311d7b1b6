package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var bootMounts = Check{
	ID: "boot-mounts", Title: "Data directories have the same file systems after a reboot", Source: "systemd.unit, systemd.mount and fstab manuals; airgap",
	Breaks: "etcd, the kubelet or the runtime would start on an empty directory of another file system after the next boot.",
	Needs:  []string{"bootMounts", "filesystems", "targets"}, Run: judgeBootMounts,
}

// judgeBootMounts compares the mounts of today with those of the next boot. A mount that may be
// missing is only a warning: install makes the kubelet and the runtime wait for it.
func judgeBootMounts(f *Facts, w *Want) Result {
	if !f.BootMounts.Surveyed {
		return skipped("the survey is from an older airgap")
	}
	if f.BootMounts.Container != "" {
		return skipped("a container: " + f.BootMounts.Container + " mounts its file systems")
	}
	var wrong, weak []string
	for _, p := range w.dataPaths() {
		differs, warning := f.mountChange(p)
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
func (f *Facts) mountChange(p string) (differs, weak string) {
	now, target := f.filesystem(p), f.target(p)
	next, mounted := f.BootMounts.at(target)
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
	return "", next.weakness(now.Type)
}

// unsteadyName matches device names that depend on the order in which disks appear.
var unsteadyName = regexp.MustCompile(`^/dev/(sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|dm-)(p?\d+)?$`)

// weakness is why the host may boot without the mount.
func (m BootMount) weakness(fsType string) string {
	var why []string
	for _, option := range []string{"nofail", "noauto", "x-systemd.automount", "_netdev"} {
		if m.Has(option) {
			why = append(why, option)
		}
	}
	switch {
	case m.Later:
		why = append(why, "no target that starts the unit")
	case m.Optional:
		why = append(why, "no target that needs the unit (RequiredBy=local-fs.target)")
	}
	if remote(fsType) && !m.Has("_netdev") {
		why = append(why, "a network file system")
	}
	if unsteadyName.MatchString(m.Spec) {
		why = append(why, m.Spec+" can be another disk after a boot")
	}
	if len(why) == 0 {
		return ""
	}
	return fmt.Sprintf("%s mounts %s with %s", m.At(), m.Mount, strings.Join(why, ", "))
}
