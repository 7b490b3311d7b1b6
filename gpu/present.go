package gpu

import (
	"fmt"

	"airgap.dev/airgap/internal/host"
)

// Present tells which PCI devices are GPUs: those that containers can
// have, and those kept for virtual machines. Each is "" where there is none.
func Present(pci []host.PCIDevice) (free, reserved string) {
	var mine, others []Device
	for _, d := range Detect(pci) {
		switch {
		case d.Kind != GPU:
		case d.Reserved() == "":
			mine = append(mine, d)
		default:
			others = append(others, d)
		}
	}
	return Summary(mine), Summary(others)
}

// Loaded tells whether a driver that is there already, by what it
// says of itself, drives the GPUs that containers can have. want is "" when it
// does, or when nobody knows.
func Loaded(pci []host.PCIDevice, text string) (found, want string, err error) {
	driver, err := ParseDriver(text)
	if err != nil {
		return "", "", err
	}
	for _, d := range Detect(pci) {
		if d.Kind != GPU || d.Reserved() != "" {
			continue
		}
		if drivers, source := driver.Wanted(d); drivers != "" {
			return fmt.Sprintf("driver %s with %s", driver, d), fmt.Sprintf("%s (%s)", drivers, source), nil
		}
	}
	return "driver " + driver.String(), "", nil
}
