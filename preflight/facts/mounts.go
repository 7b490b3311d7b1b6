package facts

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// mount is a line of mountinfo(5).
type mount struct {
	device  string // major:minor
	point   string
	options []string
	fsType  string
	source  string
	// procOptions are the options of the file system /proc; hidepid is one.
	procOptions []string
}

func readMounts(r reader) ([]mount, error) {
	lines, err := r.lines(cmp.Or(r.mountinfo, "proc/self/mountinfo"))
	if err != nil {
		return nil, err
	}
	mounts := make([]mount, 0, len(lines))
	for _, line := range lines {
		m, err := parseMount(line)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// parseMount reads ID, parent, device, root, mount point, options, any number
// of optional fields, a hyphen, type, source and the file system's options.
func parseMount(line string) (mount, error) {
	left, right, ok := strings.Cut(line, " - ")
	before, after := strings.Fields(left), strings.Fields(right)
	if !ok || len(before) < 6 || len(after) < 1 {
		return mount{}, fmt.Errorf("parse mountinfo: %q", line)
	}
	m := mount{device: before[2], point: unescapeMount(before[4]), options: strings.Split(before[5], ","), fsType: after[0]}
	if len(after) > 1 {
		m.source = unescapeMount(after[1])
	}
	if len(after) > 2 && m.fsType == "proc" {
		m.procOptions = strings.Split(after[2], ",")
	}
	// The kernel makes a whole file system read-only after an error; the options of the mount stay rw.
	if len(after) > 2 && slices.Contains(strings.Split(after[2], ","), "ro") && !slices.Contains(m.options, "ro") {
		m.options = append(m.options, "ro")
	}
	return m, nil
}

// unescapeMount decodes the octal escapes of spaces, tabs, newlines and backslashes.
func unescapeMount(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Mount is a mounted file system.
type Mount struct {
	Device  string // major:minor; of Btrfs, of no device
	Point   string
	Type    string
	Source  string // "/dev/sdb1", "nas:/export"
	Options []string
}

// MountOf returns the mount of an absolute path without links, for this process. fsys is the root of the host.
func MountOf(fsys fs.FS, path string) (Mount, error) {
	mounts, err := readMounts(reader{fs: fsys})
	if err != nil {
		return Mount{}, err
	}
	m, found := mountOf(mounts, path)
	if !found {
		return Mount{}, fmt.Errorf("find the mount of %s: /proc/self/mountinfo has none", path)
	}
	return Mount{m.device, m.point, m.fsType, m.source, m.options}, nil
}

// mountOf is the mount of a path. Later lines hide earlier ones.
func mountOf(mounts []mount, path string) (mount, bool) {
	var best mount
	for _, m := range mounts {
		if within(path, m.point) && len(m.point) >= len(best.point) {
			best = m
		}
	}
	return best, best.point != ""
}

func within(path, dir string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}
