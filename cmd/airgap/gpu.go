package main

import (
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
)

// gpus tells preflight which PCI devices are GPUs: those that containers can
// have, and those kept for virtual machines. Each is "" where there is none.
func gpus(pci []host.PCIDevice) (free, reserved string) {
	var mine, others []gpu.Device
	for _, d := range gpu.Detect(pci) {
		switch {
		case d.Kind != gpu.GPU:
		case d.Reserved() == "":
			mine = append(mine, d)
		default:
			others = append(others, d)
		}
	}
	return gpu.Summary(mine), gpu.Summary(others)
}
