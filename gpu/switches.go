package gpu

import (
	"slices"
	"strings"
)

// HasSwitches reports whether NVSwitches connect the host's GPUs, so that it needs the fabric manager.
func HasSwitches(devices []Device) bool {
	return HasHiddenSwitches(devices) || slices.ContainsFunc(devices, func(d Device) bool { return d.Kind == NVSwitch })
}

// HasHiddenSwitches reports whether the host has NVSwitches of the fourth generation. The PCI bus shows
// only their network functions, which look like those of any network card. A baseboard with eight
// B200 or B300 has these switches. In addition to the fabric manager they need a subnet manager and the
// kernel module ib_umad (NVIDIA: fabric manager user guide, "Systems Using Fourth Generation
// NVSwitches").
func HasHiddenSwitches(devices []Device) bool {
	onBoard := 0
	for _, d := range devices {
		if d.Kind == GPU && dataCenter(d.PCI.Device) {
			onBoard++
		}
	}
	return onBoard >= boardCards
}

// boardCards is the number of GPUs on an HGX baseboard.
const boardCards = 8

// dataCenter reports whether a device is a Blackwell chip for such baseboards, GB100 to GB112. The chips
// from GB202 on are on cards for PCIe slots.
func dataCenter(device string) bool {
	return slices.ContainsFunc(IDRanges(), func(r IDRange) bool { return r.has(device) && strings.HasPrefix(r.Chips, "GB1") })
}
