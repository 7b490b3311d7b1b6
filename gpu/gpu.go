// Package gpu knows NVIDIA's hardware: what the devices on a host's PCI bus
// are, found without any driver, and what makes them work in a cluster.
//
// PCI devices flow in, from a host or from its survey; recognized GPUs and
// NVSwitches flow out, and the driver for them. An identifier that the table does
// not have is still a GPU, of no known architecture: cards are newer than programs.
//
// A Setup flows in for a host that is to get the driver; out flow steps with their
// undo: nouveau off, the .run file, driver and daemons, instances (MIG), the
// description for the runtimes (CDI), labels, and the cluster's device plugin. The
// packages of a driver, and the runtimes' own configuration, are others' business.
package gpu

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// Kind is what a device is for.
type Kind string

const (
	GPU      Kind = "GPU"
	NVSwitch Kind = "NVSwitch" // joins the GPUs of one machine; needs the fabric manager
)

// Device is a GPU or an NVSwitch.
type Device struct {
	PCI          host.PCIDevice
	Kind         Kind
	Architecture Architecture // of a GPU; "" when the table does not have it
}

// Vendor is the number of NVIDIA on the PCI bus.
const Vendor = "10de"

// Detect recognizes NVIDIA's GPUs and NVSwitches among PCI devices. Their
// sound, USB and bridge functions, and other vendors' graphics, are left out.
func Detect(devices []host.PCIDevice) []Device {
	var found []Device
	for _, d := range devices {
		switch kind := kindOf(d); kind {
		case GPU:
			found = append(found, Device{d, kind, architectureOf(d.Device)})
		case NVSwitch:
			found = append(found, Device{PCI: d, Kind: kind})
		}
	}
	return found
}

// kindOf goes by the class: a VGA or 3D controller is a GPU, and what NVIDIA
// calls an NVSwitch is a bridge of no standard kind.
func kindOf(d host.PCIDevice) Kind {
	switch {
	case d.Vendor != Vendor:
		return ""
	case strings.HasPrefix(d.Class, "0300"), strings.HasPrefix(d.Class, "0302"):
		return GPU
	case strings.HasPrefix(d.Class, "0680"):
		return NVSwitch
	default:
		return ""
	}
}

// Reserved says why containers on this host cannot have the device: it is
// kept for virtual machines. It is "" when they can. A card that is shared out as virtual
// functions belongs to them: the driver that does so (NVIDIA's vGPU manager) computes
// nothing on the host.
func (d Device) Reserved() string {
	switch d.PCI.Driver {
	case "vfio-pci", "pci-stub", "pciback", "xen-pciback":
		return "passed through by " + d.PCI.Driver
	}
	if d.PCI.Virtual {
		return "virtual function"
	}
	if n := d.PCI.VirtualFunctions; n > 0 {
		return fmt.Sprintf("shared out as %d virtual functions", n)
	}
	return ""
}

// String is "NVIDIA Hopper 10de:2330", with what it is reserved for.
func (d Device) String() string {
	name := "NVIDIA"
	switch {
	case d.Kind == NVSwitch:
		name = "NVSwitch"
	case d.Architecture != "":
		name += " " + string(d.Architecture)
	}
	name += " " + d.PCI.Vendor + ":" + d.PCI.Device
	if why := d.Reserved(); why != "" {
		name += " (" + why + ")"
	}
	return name
}

// Summary counts devices of one name, in the order of their first:
// "8 × NVIDIA Hopper 10de:2330, 4 × NVSwitch 10de:22a3".
func Summary(devices []Device) string {
	count := map[string]int{}
	var names []string
	for _, d := range devices {
		name := d.String()
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d × %s", count[name], name)
	}
	return strings.Join(names, ", ")
}
