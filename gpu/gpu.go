// Package gpu recognizes NVIDIA's devices on a host's PCI bus without a driver, and configures them
// for a cluster.
//
// The input is the list of PCI devices from a host or its survey. The output is the GPUs and
// NVSwitches, and the driver for them. A GPU that is not in the table is still a GPU, with an unknown
// architecture, because new GPUs appear after a release of airgap.
//
// For a host that needs the driver the input is a Setup. The output is steps with undo: block nouveau,
// install the .run file, load the driver and start its daemons, create MIG instances, describe the
// GPUs to the runtimes (CDI), set labels, and apply the cluster's device plugin. Other packages
// install the packages of a driver and configure the runtimes.
package gpu

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// Kind is the kind of a device.
type Kind string

const (
	GPU      Kind = "GPU"
	NVSwitch Kind = "NVSwitch" // connects the GPUs of one machine; needs the fabric manager
)

// Device is a GPU or an NVSwitch.
type Device struct {
	PCI          host.PCIDevice
	Kind         Kind
	Architecture Architecture // of a GPU; "" if it is not in the table
}

// Vendor is NVIDIA's PCI vendor ID.
const Vendor = "10de"

// Detect returns NVIDIA's GPUs and NVSwitches among PCI devices, without their sound, USB and bridge
// functions.
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

// kindOf uses the PCI class: a VGA or 3D controller is a GPU, a bridge of type "other" is an NVSwitch.
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

// Reserved returns the reason why containers on this host cannot use the device, because it is reserved
// for virtual machines; "" if they can. A GPU with virtual functions is reserved, because its driver
// (NVIDIA's vGPU manager) cannot compute on the host.
func (d Device) Reserved() string {
	switch d.PCI.Driver {
	case "vfio-pci", "pci-stub", "pciback", "xen-pciback":
		return "passed through by " + d.PCI.Driver
	}
	if d.PCI.Virtual {
		return "virtual function"
	}
	if n := d.PCI.VirtualFunctions; n > 0 {
		return fmt.Sprintf("shared as %d virtual functions", n)
	}
	return ""
}

// String returns, for example, "NVIDIA Hopper 10de:2330", with the reason of Reserved.
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

// Summary counts the devices of each name, in the order of their first device:
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
