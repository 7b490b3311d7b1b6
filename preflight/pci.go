package preflight

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// nvidia is the PCI vendor whose devices are surveyed, all of them: package
// gpu knows what each is, perhaps in a later release than the survey's.
const nvidia = "10de"

func readPCI(_ context.Context, r reader, f *Facts) error {
	var err error
	if f.PCI, err = host.PCIDevices(r.fs, nvidia); err != nil {
		return err
	}
	text, err := fs.ReadFile(r.fs, "proc/driver/nvidia/version")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f.Driver, _, _ = strings.Cut(string(text), "\n")
	return err
}

// nvidiaUninstall belongs to NVIDIA's installer, the .run file.
const nvidiaUninstall = "usr/bin/nvidia-uninstall"

// readRunfile looks for what NVIDIA's installer leaves and RPMs do not.
func readRunfile(_ context.Context, r reader, f *Facts) error {
	var err error
	f.Runfile, err = r.present(nvidiaUninstall)
	return err
}

var gpuPresent = Check{
	ID: "gpu-present", Title: "GPUs", Source: "airgap: the PCI tree, no driver needed",
	Breaks: "The role promises pods a GPU that containers on this host cannot have.",
	Needs:  []string{"pci"}, Run: judgeGPU,
}

func judgeGPU(f *Facts, w *Want) Result {
	if f.Asked.Cards == nil {
		return skipped("nobody to recognize a GPU")
	}
	free, reserved := f.Asked.Cards.Free, f.Asked.Cards.Reserved
	found := strings.Trim(free+", "+reserved, ", ")
	switch {
	case !w.Is(GPU) && found == "":
		return skipped("no gpu role, no GPU")
	case !w.Is(GPU):
		return pass("%s; unused, the node has no gpu role", found)
	case free != "":
		return pass("%s", found)
	case reserved != "":
		return Result{Fail, found, "a GPU that containers on this host can have", "take a whole GPU back from the virtual machines: no vfio-pci.ids on the kernel's command line, no driverctl override, 0 in the card's sriov_numvfs"}
	default:
		return Result{Fail, "none in the PCI tree", "an NVIDIA GPU", "take the role gpu from this node, or give the machine its GPU (passthrough, seat, BIOS)"}
	}
}

var gpuDriver = Check{
	ID: "gpu-driver", Title: "Loaded GPU driver", Source: "NVIDIA: drivers by architecture, as airgap bundle --matrix lists them",
	Breaks: "A driver that does not know the card leaves it invisible; one whose branch has ended gets no fixes.",
	Role:   GPU, Needs: []string{"pci"}, Run: judgeDriver,
}

func judgeDriver(f *Facts, _ *Want) Result {
	switch cards := f.Asked.Cards; {
	case f.Driver == "":
		return skipped("no driver is loaded")
	case cards == nil:
		return skipped("nobody to judge the driver")
	case cards.Unknown != "":
		return Result{Warn, cards.Unknown, "a driver of NVIDIA's", "look at /proc/driver/nvidia/version"}
	case cards.Wanted != "":
		return Result{Fail, cards.Driver, cards.Wanted, "exchange the driver and reboot, then survey the server again; a card that the driver does not know is not there for containers"}
	}
	return pass("%s", f.Asked.Cards.Driver)
}
