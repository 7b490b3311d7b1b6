package preflight

import (
	"context"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// nvidia is the PCI vendor whose devices are surveyed, all of them: package
// gpu knows what each is, perhaps in a later release than the survey's.
const nvidia = "10de"

func readPCI(_ context.Context, r reader, f *Facts) error {
	var err error
	f.PCI, err = host.PCIDevices(r.fs, nvidia)
	return err
}

var gpuPresent = Check{
	ID: "gpu-present", Title: "GPUs", Source: "airgap: the PCI tree, no driver needed",
	Needs: []string{"pci"}, Run: judgeGPU,
}

func judgeGPU(f *Facts, w *Want) Result {
	if w.GPUs == nil {
		return skipped("nobody to recognize a GPU")
	}
	free, reserved := w.GPUs(f.PCI)
	found := strings.Trim(free+", "+reserved, ", ")
	switch {
	case !w.Is(GPU) && found == "":
		return skipped("no gpu role, no GPU")
	case !w.Is(GPU):
		return pass("%s; unused, the node has no gpu role", found)
	case free != "":
		return pass("%s", found)
	case reserved != "":
		return Result{Fail, found, "a GPU that containers on this host can have", "take a whole GPU back from the virtual machines: no vfio-pci.ids on the kernel's command line, no driverctl override"}
	default:
		return Result{Fail, "none in the PCI tree", "an NVIDIA GPU", "take the role gpu from this node, or give the machine its GPU (passthrough, seat, BIOS)"}
	}
}
