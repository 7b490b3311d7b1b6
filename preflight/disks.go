package preflight

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// DiskErrors counts the errors of a disk in the kernel log since it was plugged in or the host
// booted.
type DiskErrors struct {
	Device string `yaml:"device" json:"device"` // "sdb"
	Count  int    `yaml:"count" json:"count"`
	Last   string `yaml:"last" json:"last"`
}

// diskError matches lines such as "I/O error, dev sdb, sector 2048 op 0x0:(READ)" and
// "blk_update_request: critical medium error, dev sdb, sector 2048".
var diskError = regexp.MustCompile(`(?:I/O|critical \w+) error, dev ([\w!-]+)`)

// diskAttached matches the line after which a device name belongs to a newly attached disk.
// Earlier errors do not count: pulling a USB drive during a read causes them, too.
var diskAttached = regexp.MustCompile(`\[([\w!-]+)\] Attached SCSI`)

// quietDevices report errors without a fault: an empty optical drive, a floppy that does not exist.
var quietDevices = regexp.MustCompile(`^(fd|sr|loop)\d`)

// readDiskErrors needs root if the kernel restricts its log to root.
func readDiskErrors(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "dmesg")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		if m := diskAttached.FindStringSubmatch(line); m != nil {
			f.DiskErrors = slices.DeleteFunc(f.DiskErrors, func(d DiskErrors) bool { return d.Device == m[1] })
		}
		if m := diskError.FindStringSubmatch(line); m != nil && !quietDevices.MatchString(m[1]) {
			f.addDiskError(m[1], strings.TrimSpace(line))
		}
	}
	return nil
}

func (f *Facts) addDiskError(device, line string) {
	for i := range f.DiskErrors {
		if f.DiskErrors[i].Device == device {
			f.DiskErrors[i].Count++
			f.DiskErrors[i].Last = line
			return
		}
	}
	f.DiskErrors = append(f.DiskErrors, DiskErrors{device, 1, line})
}

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
func judgeMedia(f *Facts, w *Want) Result {
	status := Pass
	var found []string
	for _, d := range f.DiskErrors {
		status = worse(status, Warn)
		if w.MediumDevice != "" && onDisk(w.MediumDevice, d.Device) {
			status = Fail
		}
		found = append(found, fmt.Sprintf("%s: %d errors, the last one: %s", d.Device, d.Count, d.Last))
	}
	if status == Pass {
		return pass("no error in the kernel log")
	}
	return Result{status, strings.Join(found, "; "), "no error", "use another USB drive or another port, and read every byte with airgap inspect --full DIR; for a disk of the server: run smartctl -a, and ask the server's administrators"}
}
