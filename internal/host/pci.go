package host

import (
	"errors"
	"fmt"
	"io/fs"
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
	_, err = fs.Stat(fsys, dir+"/physfn") // a link to the card it is a share of
	d.Virtual = err == nil
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return d, err
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
