package gpu

import (
	"fmt"
	"strconv"
)

// Architecture is a family of GPUs. It determines the drivers that support a GPU.
type Architecture string

const (
	Fermi       Architecture = "Fermi"
	Kepler      Architecture = "Kepler"
	Maxwell     Architecture = "Maxwell"
	Pascal      Architecture = "Pascal"
	Volta       Architecture = "Volta"
	Turing      Architecture = "Turing"
	Ampere      Architecture = "Ampere"
	Ada         Architecture = "Ada"
	Hopper      Architecture = "Hopper"
	GraceHopper Architecture = "Grace Hopper" // a Hopper GPU with NVIDIA's own CPU: GH200
	Blackwell   Architecture = "Blackwell"
)

// IDRange is a block of PCI device IDs.
type IDRange struct {
	First, Last  DeviceID
	Architecture Architecture
	Chips        string
	Source       string
}

// DeviceID is a PCI device ID. Its text has the format of lspci and pci.ids: 2330.
type DeviceID uint16

func (id DeviceID) String() string { return fmt.Sprintf("%04x", uint16(id)) }

// MarshalText returns the hexadecimal digits.
func (id DeviceID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// IDRanges returns the ranges of PCI device IDs with their chips, sorted. NVIDIA assigns the IDs in
// blocks of 0x80; before Maxwell in blocks of 0x40 and less. If the source lists single GPUs, a
// range includes all entries of its chips.
func IDRanges() []IDRange {
	const (
		pciIDs     = "pci.ids 2023.04.11"
		envytools  = "envytools: docs/hw/pciid.rst"
		adminTools = "NVIDIA/gpu-admin-tools: gpu/devid_chips.py"
		selfHosted = "NVIDIA/open-gpu-kernel-modules: detect-self-hosted.h"
	)
	return []IDRange{
		{0x06c0, 0x06df, Fermi, "GF100", envytools},
		{0x0dc0, 0x0dff, Fermi, "GF106 GF108", envytools},
		{0x0e20, 0x0e3f, Fermi, "GF104", envytools},
		{0x0f00, 0x0f1f, Fermi, "GF108", envytools},
		{0x0fc0, 0x0fff, Kepler, "GK107", pciIDs},
		{0x1000, 0x103f, Kepler, "GK110 GK210", pciIDs},
		{0x1040, 0x109f, Fermi, "GF119 GF110", envytools},
		{0x1140, 0x117f, Fermi, "GF117", envytools},
		{0x1180, 0x11ff, Kepler, "GK104 GK106", pciIDs},
		{0x1200, 0x125f, Fermi, "GF114 GF116", envytools},
		{0x1280, 0x12bf, Kepler, "GK208", pciIDs},
		{0x1340, 0x147f, Maxwell, "GM108 GM107 GM204 GM206", pciIDs},
		{0x15f0, 0x15ff, Pascal, "GP100", pciIDs},
		{0x1600, 0x167f, Maxwell, "GM204", pciIDs},
		{0x1720, 0x173f, Pascal, "GP100", pciIDs},
		{0x1740, 0x17ff, Maxwell, "GM108 GM107 GM200", pciIDs},
		{0x1b00, 0x1d7f, Pascal, "GP102 GP104 GP106 GP107 GP108", pciIDs},
		{0x1d80, 0x1dff, Volta, "GV100", pciIDs},
		{0x1e00, 0x1fff, Turing, "TU102 TU104 TU106 TU117", pciIDs},
		{0x2080, 0x20ff, Ampere, "GA100", pciIDs},
		{0x2180, 0x21ff, Turing, "TU116", pciIDs},
		{0x2200, 0x227f, Ampere, "GA102", pciIDs},
		{0x2300, 0x233f, Hopper, "GH100", pciIDs},
		{0x2340, 0x237f, GraceHopper, "GH100", selfHosted},
		{0x2400, 0x25ff, Ampere, "GA103 GA104 GA106 GA107", pciIDs},
		{0x2680, 0x28ff, Ada, "AD102 AD103 AD104 AD106 AD107", pciIDs},
		{0x2900, 0x29ff, Blackwell, "GB100 GB102", adminTools},
		{0x2b80, 0x2c7f, Blackwell, "GB202 GB203", adminTools},
		{0x2d00, 0x2dff, Blackwell, "GB206 GB207", adminTools},
		{0x2f00, 0x2f7f, Blackwell, "GB205", adminTools},
		{0x3180, 0x327f, Blackwell, "GB110 GB112", adminTools},
	}
}

// architectureOf returns "" for an ID that is in no range.
func architectureOf(device string) Architecture {
	for _, r := range IDRanges() {
		if r.has(device) {
			return r.Architecture
		}
	}
	return ""
}

func (r IDRange) has(device string) bool {
	id, err := strconv.ParseUint(device, 16, 16)
	return err == nil && DeviceID(id) >= r.First && DeviceID(id) <= r.Last
}
