package preflight

import (
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var gpuPresent = Check{
	ID: "gpu-present", Title: "Containers can use a GPU", Source: "airgap: the PCI tree, no driver needed",
	Breaks: "The role gpu promises pods a GPU, but containers on this host cannot use one.",
	Needs:  []string{"pci"}, Run: judgeGPU,
}

func judgeGPU(f *facts.Facts, w *Want) Result {
	if f.Asked.GPUs == nil {
		return skipped("the GPUs were not identified")
	}
	free, reserved := f.Asked.GPUs.Free, f.Asked.GPUs.Reserved
	found := strings.Trim(free+", "+reserved, ", ")
	switch {
	case !w.HasRole(GPU) && found == "":
		return skipped("no role gpu, no GPU")
	case !w.HasRole(GPU):
		return pass("%s; unused, because the node does not have the role gpu", found)
	case free != "":
		return pass("%s", found)
	case reserved != "":
		return Result{Fail, found, "a GPU that containers on this host can use", "release a whole GPU from the virtual machines: remove vfio-pci.ids from the kernel command line and any driverctl override, and set the GPU's sriov_numvfs to 0"}
	default:
		return Result{Fail, "none in the PCI tree", "an NVIDIA GPU", "remove the role gpu from this node, or give the machine its GPU (passthrough, PCIe slot, BIOS)"}
	}
}

var gpuDriver = Check{
	ID: "gpu-driver", Title: "Loaded driver supports the GPUs", Source: "NVIDIA: drivers by architecture, as airgap bundle --matrix lists them",
	Breaks: "A driver without support for the GPU does not show it. A driver branch after its end of life gets no fixes.",
	Role:   GPU, Needs: []string{"pci"}, Run: judgeDriver,
}

func judgeDriver(f *facts.Facts, _ *Want) Result {
	switch gpus := f.Asked.GPUs; {
	case f.Driver == "":
		return skipped("no driver is loaded")
	case gpus == nil:
		return skipped("the GPUs were not identified")
	case gpus.Unknown != "":
		return Result{Warn, gpus.Unknown, "an NVIDIA driver", "look at /proc/driver/nvidia/version"}
	case gpus.Required != "":
		return Result{Fail, gpus.Driver, gpus.Required, "replace the driver and reboot, then run airgap survey again: containers cannot use a GPU that the driver does not support"}
	}
	return pass("%s", f.Asked.GPUs.Driver)
}
