package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var multipath = Check{
	ID: "multipath", Title: "multipathd leaves local disks alone", Source: "multipath.conf manual; longhorn#1210",
	Breaks: "multipathd takes a disk before it is mounted: its file system is missing after a boot, or a volume of a pod is busy.",
	Needs:  []string{"multipath", "units", "bootMounts"}, Run: judgeMultipath,
}

// judgeMultipath fails if the next boot mounts a disk by a name that multipathd has taken.
func judgeMultipath(f *facts.Facts, w *Want) Result {
	unit := f.Unit("multipathd.service")
	if !unit.Active() && unit.Enabled != "enabled" {
		return pass("not active")
	}
	fix := "add the disk to a blacklist section of /etc/multipath.conf (wwid, from multipath -ll), run multipath -w WWID and dracut -f; and mount it by UUID="
	for _, p := range w.dataPaths() {
		next, ok := f.BootMounts.At(f.Target(p))
		disk := strings.TrimPrefix(next.Spec, "/dev/")
		taken := slices.ContainsFunc(f.Multipath.Single, func(single string) bool { return onDisk(disk, single) })
		if ok && taken {
			return Result{Fail, fmt.Sprintf("%s mounts %s for %s, and multipathd has taken that disk", next.At(), next.Spec, p), "a disk that multipathd leaves alone", fix}
		}
	}
	switch value := f.Multipath.FindMultipaths; {
	case len(f.Multipath.Single) > 0:
		return Result{Warn, "multipathd has taken disks with one path: " + strings.Join(f.Multipath.Single, ", "), "only disks with several paths", fix}
	case slices.Contains([]string{"no", "off", "greedy"}, value):
		return Result{Warn, fmt.Sprintf("%s sets find_multipaths %s: multipathd takes every new disk", f.Multipath.At, value), "find_multipaths on, or a blacklist", "set find_multipaths on in the section defaults, and run systemctl reload multipathd"}
	}
	return pass("active; it takes only disks with several paths")
}
