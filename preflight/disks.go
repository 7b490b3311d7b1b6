package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// onDisk reports whether a device is a disk or one of its partitions: sdb1 of sdb, nvme0n1p2 of
// nvme0n1. sdbc is another disk.
func onDisk(device, disk string) bool {
	part, is := strings.CutPrefix(device, disk)
	if !is || disk == "" {
		return false
	}
	if last := disk[len(disk)-1]; part != "" && last >= '0' && last <= '9' {
		if part, is = strings.CutPrefix(part, "p"); !is || part == "" {
			return false
		}
	}
	return strings.Trim(part, "0123456789") == ""
}

var usbMedia = Check{
	ID: "usb-media", Title: "USB drive and disks are readable", Source: "airgap: USB drives fail, and the kernel log shows it first",
	Breaks: "Files that are copied from the USB drive are corrupted, or the copy never finishes.",
	Needs:  []string{"diskErrors"}, Run: judgeMedia,
}

// judgeMedia fails for the disk with the bundle: a new USB drive costs less now than during the
// installation. airgap checks the files and their sizes when it opens the bundle, and verifies
// every byte when it copies it.
func judgeMedia(f *facts.Facts, w *Want) Result {
	status := Pass
	var found []string
	for _, d := range f.DiskErrors {
		status = worse(status, Warn)
		if slices.ContainsFunc(w.MediumDevices, func(medium string) bool { return onDisk(medium, d.Device) }) {
			status = Fail
		}
		found = append(found, fmt.Sprintf("%s: %d errors, the last one: %s", d.Device, d.Count, d.Last))
	}
	if status == Pass {
		return pass("no error in the kernel log")
	}
	return Result{status, strings.Join(found, "; "), "no error", "use another USB drive or another port, and read every byte with airgap inspect --full DIR; for a disk of the server: run smartctl -a, and ask the server's administrators"}
}
