package main

import (
	"fmt"

	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
)

// gpus tells preflight which PCI devices are GPUs: those that containers can
// have, and those kept for virtual machines. Each is "" where there is none.
func gpus(pci []host.PCIDevice) (free, reserved string) {
	var mine, others []gpu.Device
	for _, d := range gpu.Detect(pci) {
		switch {
		case d.Kind != gpu.GPU:
		case d.Reserved() == "":
			mine = append(mine, d)
		default:
			others = append(others, d)
		}
	}
	return gpu.Summary(mine), gpu.Summary(others)
}

// loadedDriver tells preflight whether a driver that is there already, by what it
// says of itself, drives the GPUs that containers can have. want is "" when it
// does, or when nobody knows.
func loadedDriver(pci []host.PCIDevice, text string) (found, want string, err error) {
	driver, err := gpu.ParseDriver(text)
	if err != nil {
		return "", "", err
	}
	for _, d := range gpu.Detect(pci) {
		if d.Kind != gpu.GPU || d.Reserved() != "" {
			continue
		}
		if drivers, source := driver.Wanted(d); drivers != "" {
			return fmt.Sprintf("driver %s with %s", driver, d), fmt.Sprintf("%s (%s)", drivers, source), nil
		}
	}
	return "driver " + driver.String(), "", nil
}
