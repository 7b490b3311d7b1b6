// Package gpustatus reports the state of this host's GPUs and their problems.
package gpustatus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/nodereport"
)

// Status is the state of this host's GPUs.
type Status struct {
	Bus    []Device     `json:"bus"`
	Driver string       `json:"driver,omitempty"` // that is loaded: "580.82.07 (open)"
	NVML   *nvml.Report `json:"nvml,omitempty"`   // nil where it gave no answer
	Faults []string     `json:"faults,omitempty"`

	devices []gpu.Device
}

// Device is a GPU or an NVSwitch.
type Device struct {
	Address string   `json:"address"` // "0000:17:00.0"
	Name    string   `json:"name"`    // "NVIDIA Hopper 10de:2330", with its reservation
	Kind    gpu.Kind `json:"kind"`
}

// Here is Read of this host; p says while it listens.
func Here(ctx context.Context, watch time.Duration, p ui.Progress) (*Status, error) {
	if watch > 0 {
		p.Now("Listen for Xid events for " + watch.String())
	}
	return Read(ctx, host.Local{}, watch)
}

// Read also returns its findings with an error; none if the host has
// no GPU.
func Read(ctx context.Context, h host.Host, watch time.Duration) (*Status, error) {
	pci, err := host.PCIDevices(h.FS(), gpu.Vendor)
	if err != nil {
		return nil, advice.Add(err, "look at it with lspci -d 10de: -vv; a card that has left the bus comes back when the server is powered off and on")
	}
	if free, reserved := gpu.Present(pci); free == "" {
		return nil, noCard(reserved)
	}
	st := &Status{devices: gpu.Detect(pci)}
	for _, d := range st.devices {
		st.Bus = append(st.Bus, Device{d.PCI.Address, d.String(), d.Kind})
	}
	driver, err := gpu.Setup{Host: h}.Loaded()
	switch {
	case err != nil:
		return st, err
	case driver == gpu.Driver{}:
		return st, notLoaded(ctx, h)
	}
	st.Driver, st.Faults = driver.String(), report.LoggedFaults(ctx, h)
	if watch > 0 {
		st.NVML, err = nvml.Watch(ctx, h, watch)
	} else {
		st.NVML, err = nvml.Query(ctx, h)
	}
	if err == nil {
		st.Faults = slices.Concat(st.disagreements(driver), st.NVML.Faults(), st.Faults)
	}
	return st, err
}

func noCard(reserved string) error {
	if reserved != "" {
		return advice.Add(fmt.Errorf("find GPUs: none that containers can use, but %s", reserved), "release a whole GPU from virtual machines: no vfio-pci.ids on the kernel command line, no driverctl override, 0 in the GPU's sriov_numvfs")
	}
	return advice.Add(errors.New("find GPUs: none from NVIDIA on the PCI bus"), "run lspci -d 10de: to see the devices of the kernel; assign the GPU to the virtual machine, or enable its slot in the server's firmware")
}

func notLoaded(ctx context.Context, h host.Host) error {
	kernel, err := nodereport.Kernel(h)
	if err != nil {
		return err
	}
	here := gpu.Setup{Host: h}
	has, err := here.HasModule()
	if err != nil {
		return errors.Join(err, fmt.Errorf("ask NVML: %w", nvml.ErrNoDriver))
	}
	if has {
		return here.NotLoaded(ctx, "ask NVML", nvml.ErrNoDriver)
	}
	return advice.Add(fmt.Errorf("ask NVML: the running kernel %s has no NVIDIA module", kernel), "dkms status shows for which kernels there is one; boot one of them, or install a driver for this kernel")
}

// disagreements returns the differences between bus, kernel and library.
func (st *Status) disagreements(driver gpu.Driver) []string {
	var all []string
	if st.NVML.Driver != driver.Version {
		all = append(all, fmt.Sprintf("the kernel module is %s, the library %s: reboot", driver.Version, st.NVML.Driver))
	}
	free := 0
	for _, d := range st.devices {
		if d.Kind != gpu.GPU || d.Reserved() != "" {
			continue
		}
		free++
		if want, _ := driver.Required(d); want != "" {
			all = append(all, fmt.Sprintf("%s %s: driver %s does not support it, it requires %s", d.PCI.Address, d, driver, want))
		}
	}
	if n := len(st.NVML.GPUs); n != free {
		all = append(all, fmt.Sprintf("%s on the bus, %d for NVML: dmesg | grep -i nvrm; ls -l /dev/nvidia*", ui.Count(free, "card"), n))
	}
	return all
}
