package gpu

import (
	"fmt"

	"airgap.dev/airgap/internal/host"
)

// Present returns summaries of the GPUs for containers and of the GPUs for virtual machines. Each is ""
// for none.
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

// Seen has a host's GPUs and its loaded driver, in the format of preflight.GPUs.
type Seen struct {
	Free, Reserved string // results of Present
	Driver         string // the loaded driver; "" for none or an unknown one
	Required       string // the driver that the GPUs require instead; "" if the loaded one supports them
	Unknown        string // the reason why the loaded driver is unknown
}

// Look recognizes the GPUs among a host's PCI devices, and the loaded driver from text, the content of
// /proc/driver/nvidia/version; "" for none.
func Look(pci []host.PCIDevice, text string) Seen {
	var s Seen
	s.Free, s.Reserved = Present(pci)
	if text == "" {
		return s
	}
	var err error
	if s.Driver, s.Required, err = loaded(pci, text); err != nil {
		s.Unknown = err.Error()
	}
	return s
}

// loaded checks whether the loaded driver supports the GPUs for containers. want is "" if it does, or
// if the GPU is not in the table.
func loaded(pci []host.PCIDevice, text string) (found, want string, err error) {
	driver, err := ParseDriver(text)
	if err != nil {
		return "", "", err
	}
	for _, d := range Detect(pci) {
		if d.Kind != GPU || d.Reserved() != "" {
			continue
		}
		if drivers, source := driver.Required(d); drivers != "" {
			return fmt.Sprintf("driver %s with %s", driver, d), fmt.Sprintf("%s (%s)", drivers, source), nil
		}
	}
	return "driver " + driver.String(), "", nil
}
