package preflight

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// DiskErrors is what the kernel's log says of a disk since it was plugged in, or the host
// started.
type DiskErrors struct {
	Device string `yaml:"device" json:"device"` // "sdb"
	Count  int    `yaml:"count" json:"count"`
	Last   string `yaml:"last" json:"last"`
}

// diskError is a line such as "I/O error, dev sdb, sector 2048 op 0x0:(READ)" or
// "blk_update_request: critical medium error, dev sdb, sector 2048".
var diskError = regexp.MustCompile(`(?:I/O|critical \w+) error, dev ([\w!-]+)`)

// diskAttached is the line after which a name is another disk's, or that of a stick that
// was pulled amid a read, which is no error of the stick's, and is back.
var diskAttached = regexp.MustCompile(`\[([\w!-]+)\] Attached SCSI`)

// quietDevices have errors that mean nothing: an empty drive, a floppy that is none.
var quietDevices = regexp.MustCompile(`^(fd|sr|loop)\d`)

// readDiskErrors needs root where the kernel keeps its log for root.
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

var usbMedia = Check{
	ID: "usb-media", Title: "The stick and the disks can be read", Source: "airgap: sticks break, and the kernel's log knows first",
	Breaks: "What is copied from the stick is not what was written to it, or the copy never ends.",
	Needs:  []string{"diskErrors"}, Run: judgeMedia,
}

// judgeMedia fails for the medium of the bundle: another trip is cheaper now than
// half-way. That all files are there and as large as they were is seen when the bundle is
// opened, and every byte is verified as it is copied.
func judgeMedia(f *Facts, w *Want) Result {
	status := Pass
	var found []string
	for _, d := range f.DiskErrors {
		status = worse(status, Warn)
		if w.MediumDevice != "" && strings.HasPrefix(w.MediumDevice, d.Device) {
			status = Fail
		}
		found = append(found, fmt.Sprintf("%s: %d errors, the last one: %s", d.Device, d.Count, d.Last))
	}
	if status == Pass {
		return pass("no error in the kernel's log")
	}
	return Result{status, strings.Join(found, "; "), "no error", "another stick, or another port, and airgap inspect --full DIR reads every byte; of a disk of the server: smartctl -a, and its owners"}
}
