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

// Seen is what a host's GPUs and its loaded driver are, in the form of preflight.GPUs.
type Seen struct {
	Free, Reserved string // as Present has them
	Driver         string // the loaded driver; "" for none, or one that is not known
	Required       string // the driver that the GPUs want instead; "" where it will do
	Unknown        string // why the loaded driver is not known
}

// Look recognizes the GPUs among a host's PCI devices, and the driver by what a loaded one says
// of itself; text is "" where none is loaded.
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

// loaded tells whether a driver that is there already, by what it
// says of itself, drives the GPUs that containers can have. want is "" when it
// does, or when nobody knows.
func loaded(pci []host.PCIDevice, text string) (found, want string, err error) {
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
