package gpu

import "slices"

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
		if d.Kind == GPU && d.Architecture == Blackwell && dataCenter(d.PCI.Device) {
			onBoard++
		}
	}
	return onBoard >= boardCards
}

// boardCards are on one HGX board.
const boardCards = 8

// dataCenter tells Blackwell's chips for such boards, GB100 to GB112, from those of
// cards that are put into slots.
func dataCenter(device string) bool {
	for _, r := range ranges() {
		if r.is == Blackwell && r.has(device) {
			return r.chips == "GB100 GB102" || r.chips == "GB110 GB112"
		}
	}
	return false
}
