package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/nodereport"
)

func (a *app) gpu() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gpu",
		Short: "This server's GPUs",
		Long: `airgap gpu status shows the cards of this server and what is wrong with them. airgap
bundle decides their driver, and airgap install brings it, with all that containers
need to use a card; airgap verify judges the cards of all nodes.`,
		Example: "  airgap gpu status",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.gpuStatus())
	return gives(cmd, asText)
}

// maxWatch is the helper's.
const maxWatch = time.Hour

func (a *app) gpuStatus() *cobra.Command {
	var watch time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show this server's GPUs, by the bus and by NVIDIA's library",
		Long: `Shows the GPUs and NVSwitches on the PCI bus, the driver that is loaded, and
what NVIDIA's library (NVML) says of each card: name, UUID, memory, temperature with
where the card slows itself down and turns itself off, power and its limit, memory
errors, rows of memory that were replaced, parts (MIG), NVLinks. At the end stands
what is wrong, if anything is.

Where the driver is not loaded, root sees what the kernel said of it since the boot.
Errors of the driver (Xid events) of the last day are from the kernel's log, which
root and the group systemd-journal may read. With --watch-xid the library is
listened to first, for those of the time from now on.

Nothing is changed, and no root is needed. A fault is no error of this command: the
exit code is 0. It is 1 where there is no card that containers can have, or where
the library gives no answer; what to do stands beside the reason. airgap verify
judges the cards of all nodes.`,
		Example: "  airgap gpu status\n  airgap gpu status --watch-xid 10s\n  airgap gpu status --output json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch < 0 || watch > maxWatch {
				return advice.Usagef("airgap gpu status: --watch-xid %s: from 0s to %s", watch, maxWatch)
			}
			if watch > 0 {
				a.newProgress().Now("Listen for Xid events for " + watch.String())
			}
			st, err := readGPUStatus(cmd.Context(), host.Local{}, watch)
			if st == nil {
				return err
			}
			return errors.Join(a.print(st, st.write), err)
		},
	}
	cmd.Flags().DurationVar(&watch, "watch-xid", 0, "listen for the driver's errors for this long before the cards are read; at most 1h")
	return cmd
}

// gpuStatus is what is known of this host's cards.
type gpuStatus struct {
	Bus    []busDevice  `json:"bus"`
	Driver string       `json:"driver,omitempty"` // that is loaded: "580.82.07 (open)"
	NVML   *nvml.Report `json:"nvml,omitempty"`   // nil where it gave no answer
	Faults []string     `json:"faults,omitempty"`

	devices []gpu.Device
}

// busDevice is a GPU or an NVSwitch.
type busDevice struct {
	Address string   `json:"address"` // "0000:17:00.0"
	Name    string   `json:"name"`    // "NVIDIA Hopper 10de:2330", with what it is reserved for
	Kind    gpu.Kind `json:"kind"`
}

// readGPUStatus gives what it has found also with an error; nothing where there is
// no card.
func readGPUStatus(ctx context.Context, h host.Host, watch time.Duration) (*gpuStatus, error) {
	pci, err := host.PCIDevices(h.FS(), gpu.Vendor)
	if err != nil {
		return nil, advice.Add(err, "look at it with lspci -d 10de: -vv; a card that has left the bus comes back when the server is powered off and on")
	}
	if free, reserved := gpu.Present(pci); free == "" {
		return nil, noCard(reserved)
	}
	st := &gpuStatus{devices: gpu.Detect(pci)}
	for _, d := range st.devices {
		st.Bus = append(st.Bus, busDevice{d.PCI.Address, d.String(), d.Kind})
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
		st.NVML, err = nvml.Ask(ctx, h)
	}
	if err == nil {
		st.Faults = slices.Concat(st.disagreements(driver), st.NVML.Faults(), st.Faults)
	}
	return st, err
}

func noCard(reserved string) error {
	if reserved != "" {
		return advice.Add(fmt.Errorf("find cards: none that containers can have, but %s", reserved), "take a whole GPU back from the virtual machines: no vfio-pci.ids on the kernel's command line, no driverctl override, 0 in the card's sriov_numvfs")
	}
	return advice.Add(errors.New("find cards: none of NVIDIA's on the PCI bus"), "lspci -d 10de: shows what the kernel sees; a virtual machine has to be given its card, a server's firmware may have its slot off")
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

// disagreements are what bus, kernel and library say differently of one thing.
func (st *gpuStatus) disagreements(driver gpu.Driver) []string {
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
		if want, _ := driver.Wanted(d); want != "" {
			all = append(all, fmt.Sprintf("%s %s: driver %s does not drive it, it wants %s", d.PCI.Address, d, driver, want))
		}
	}
	if n := len(st.NVML.Cards); n != free {
		all = append(all, fmt.Sprintf("%s on the bus, %d for NVML: dmesg | grep -i nvrm; ls -l /dev/nvidia*", ui.Count(free, "card"), n))
	}
	return all
}
