package gpu

import (
	"slices"
	"strings"
)

// HasSwitches tells whether NVSwitches join the host's cards, which takes the fabric
// manager.
func HasSwitches(devices []Device) bool {
	return HasHiddenSwitches(devices) || slices.ContainsFunc(devices, func(d Device) bool { return d.Kind == NVSwitch })
}

// HasHiddenSwitches tells whether they are of the fourth generation. These are not
// on the bus: network functions of theirs are, which look like any others; a board of
// eight B200 or B300 has them. Beside the fabric manager they take a subnet manager,
// and the kernel's ib_umad to reach them (NVIDIA: fabric manager user guide, "Systems
// Using Fourth Generation NVSwitches").
func HasHiddenSwitches(devices []Device) bool {
	onBoard := 0
	for _, d := range devices {
		if d.Kind == GPU && dataCenter(d.PCI.Device) {
			onBoard++
		}
	}
	return onBoard >= boardCards
}

// boardCards are on one HGX board.
const boardCards = 8

// dataCenter tells Blackwell's chips for such boards, GB100 to GB112, from those of
// cards that are put into slots, GB202 and on.
func dataCenter(device string) bool {
	return slices.ContainsFunc(IDRanges(), func(r IDRange) bool { return r.has(device) && strings.HasPrefix(r.Chips, "GB1") })
}
