package preflight

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var usbStorage = Check{
	ID: "usb-drives", Title: "USB drives can be used", Source: "CIS benchmark for Enterprise Linux: usb-storage; STIG: usbguard",
	Breaks: "The server does not see the USB drive: the bundle cannot be copied without an exception from the security team.",
	Needs:  []string{"usb", "units"}, Run: judgeUSB,
}

// judgeUSB passes if airgap reads the bundle from a disk already: the drive was let in, or the bundle came another way.
func judgeUSB(f *facts.Facts, w *Want) Result {
	found := USBBlocks(f)
	switch {
	case len(found) == 0:
		return pass("nothing blocks them")
	case len(w.MediumDevices) > 0:
		return pass("blocked (%s), but the bundle is already readable on %s", strings.Join(found, "; "), w.MediumDevices[0])
	}
	return Result{Warn, strings.Join(found, "; "), "a way to bring the bundle to the server",
		fmt.Sprintf("ask the security team for an exception before the trip (%s), or copy the bundle through the network and install from that directory", usbException(f))}
}

// USBBlocks are the settings and services of a host that block USB drives.
func USBBlocks(f *facts.Facts) (found []string) {
	for _, l := range f.USBBlocked {
		found = append(found, l.String())
	}
	switch unit := f.Unit("usbguard.service"); {
	case unit.Active():
		found = append(found, "usbguard.service is active and blocks unknown drives")
	case unit.Later():
		found = append(found, "the next boot starts usbguard.service, which blocks unknown drives")
	}
	return found
}

func usbException(f *facts.Facts) string {
	if unit := f.Unit("usbguard.service"); unit.Active() || unit.Later() {
		return "usbguard list-devices --blocked; usbguard allow-device NUMBER"
	}
	return "remove the line for the installation, then modprobe usb-storage"
}
