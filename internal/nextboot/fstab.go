package nextboot

import (
	"io/fs"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

const fstab = "etc/fstab"

// fstabSwaps reads the lines of type swap that systemd turns on at boot. Lines without a type are
// odd: nothing mounts them.
func fstabSwaps(fsys fs.FS) (swaps []Swap, odd []Place, err error) {
	s, err := read(fsys, fstab)
	for i, line := range s.lines {
		fields := strings.Fields(line)
		switch {
		case comment(line):
		case len(fields) < 3:
			odd = append(odd, s.at(i))
		case IsFstabSwap(line) && !noauto(fields):
			swaps = append(swaps, Swap{What: host.UnescapeMount(fields[0]), By: ByFstab, Place: s.at(i)})
		}
	}
	return swaps, odd, err
}

// IsFstabSwap reports whether a line of fstab has the type swap.
func IsFstabSwap(line string) bool {
	fields := strings.Fields(line)
	return len(fields) >= 3 && fields[2] == "swap" && !strings.HasPrefix(fields[0], "#")
}

// noauto reports whether the last of the options auto and noauto is noauto.
func noauto(fields []string) bool {
	if len(fields) < 4 {
		return false
	}
	options := strings.Split(fields[3], ",")
	slices.Reverse(options)
	i := slices.IndexFunc(options, func(o string) bool { return o == "auto" || o == "noauto" })
	return i >= 0 && options[i] == "noauto"
}
