package host

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// PCIDevice is one function of a device on the PCI bus, as the kernel shows
// it without any driver. The numbers are lower-case hexadecimal without 0x.
type PCIDevice struct {
	Address string `yaml:"address" json:"address"` // 0000:17:00.0
	Vendor  string `yaml:"vendor" json:"vendor"`   // 10de is NVIDIA
	Device  string `yaml:"device" json:"device"`
	Class   string `yaml:"class" json:"class"`                       // 030200 is a 3D controller
	Driver  string `yaml:"driver,omitempty" json:"driver,omitempty"` // the kernel's driver that has it: "nvidia", "vfio-pci"
	// Virtual is an SR-IOV virtual function: a share of a card on this host.
	Virtual bool `yaml:"virtual,omitempty" json:"virtual,omitempty"`
	// VirtualFunctions is the number of virtual functions of the device now.
	VirtualFunctions int `yaml:"virtualFunctions,omitempty" json:"virtualFunctions,omitempty"`
	// Windows are the sizes in bytes of the ranges of its base address registers, one
	// for each register and one for each pair of them that holds an address of 64
	// bits; 0 where there is none and -1 where one got no address. None when the
	// kernel does not tell.
	Windows []int64 `yaml:"windows,flow,omitempty" json:"windows,omitempty"`
}

const pciDir = "sys/bus/pci/devices"

// PCIDevices lists the devices of a vendor in the order of their addresses.
// A machine without a PCI bus has none.
func PCIDevices(fsys fs.FS, vendor string) ([]PCIDevice, error) {
	entries, err := fs.ReadDir(fsys, pciDir) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list PCI devices: %w", err)
	}
	var devices []PCIDevice
	for _, e := range entries {
		d, err := readPCI(fsys, e.Name(), vendor)
		if err != nil {
			return devices, fmt.Errorf("read PCI device %s: %w", e.Name(), err)
		}
		if d.Vendor == vendor {
			devices = append(devices, d)
		}
	}
	return devices, nil
}

// readPCI stops after the vendor when that is another one.
func readPCI(fsys fs.FS, address, vendor string) (PCIDevice, error) {
	d := PCIDevice{Address: address}
	dir := pciDir + "/" + address
	for _, attribute := range []struct {
		file string
		into *string
	}{{"vendor", &d.Vendor}, {"device", &d.Device}, {"class", &d.Class}} {
		text, err := fs.ReadFile(fsys, dir+"/"+attribute.file)
		if err != nil {
			return d, err
		}
		*attribute.into = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(string(text))), "0x")
		if d.Vendor != vendor {
			return d, nil
		}
	}
	var err error
	if d.Driver, err = pciDriver(fsys, dir); err != nil {
		return d, err
	}
	if d.Windows, err = pciWindows(fsys, dir); err != nil {
		return d, err
	}
	if d.VirtualFunctions, err = pciVirtualFunctions(fsys, dir); err != nil {
		return d, err
	}
	_, err = fs.Stat(fsys, dir+"/physfn") // a link to the card it is a share of
	d.Virtual = err == nil
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return d, err
}

// pciVirtualFunctions is 0 as well where the device cannot be shared (Linux: PCI/iov-howto).
func pciVirtualFunctions(fsys fs.FS, dir string) (int, error) {
	text, err := fs.ReadFile(fsys, dir+"/sriov_numvfs")
	if err != nil {
		return 0, IgnoreMissing(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("parse sriov_numvfs: %w", err)
	}
	return n, nil
}

// pciDriver is the driver by the device's uevent file, which says the same as
// the link named driver and needs no reading of links.
func pciDriver(fsys fs.FS, dir string) (string, error) {
	text, err := fs.ReadFile(fsys, dir+"/uevent")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	for line := range strings.Lines(string(text)) {
		if driver, is := strings.CutPrefix(line, "DRIVER="); is {
			return strings.TrimSpace(driver), nil
		}
	}
	return "", err
}

// pciWindows reads the device's resource file: a line for each base address register with
// first address, last address and flags, of include/linux/ioport.h. An address of 64 bits
// takes two registers, and the line of the second one is empty; so is the line of a window
// that some kernels gave up on. With unset the kernel marks those that it found no place for.
func pciWindows(fsys fs.FS, dir string) ([]int64, error) {
	const (
		registers = 6
		wide      = 0x00100000 // IORESOURCE_MEM_64
		unset     = 0x20000000 // IORESOURCE_UNSET
	)
	text, err := fs.ReadFile(fsys, dir+"/resource")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var windows []int64
	lines := slices.Collect(strings.Lines(string(text)))
	upper := false // the line belongs to the window before it
	for _, line := range lines[:min(registers, len(lines))] {
		var first, last, flags uint64
		if _, err := fmt.Sscanf(line, "0x%x 0x%x 0x%x", &first, &last, &flags); err != nil {
			return windows, fmt.Errorf("parse resource %q: %w", strings.TrimSpace(line), err)
		}
		switch {
		case upper:
		case flags&unset != 0 || first == 0 && last > 0:
			windows = append(windows, -1)
		case last > first:
			windows = append(windows, int64(last-first)+1)
		default:
			windows = append(windows, 0)
		}
		upper = !upper && flags&wide != 0
	}
	return windows, err
}
