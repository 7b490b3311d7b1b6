package facts

import (
	"context"
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
