package host

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// DeviceOf returns the kernel's name of the disk or partition of a path: "sdb1".
// It is "" for file systems without a disk, and if it is unknown.
func DeviceOf(path string) string {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return ""
	}
	link, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(s.Dev), unix.Minor(s.Dev)))
	if err != nil {
		return ""
	}
	return filepath.Base(link)
}
