package preflight

import (
	"context"
	"fmt"
	"strings"
)

// PCIDevice is a GPU or an NVSwitch, found without any driver. The numbers
// are hexadecimal, as the kernel writes them, without 0x.
type PCIDevice struct {
	Address string `yaml:"address" json:"address"` // 0000:17:00.0
	Vendor  string `yaml:"vendor" json:"vendor"`   // 10de is NVIDIA
	Device  string `yaml:"device" json:"device"`
	Class   string `yaml:"class" json:"class"` // 030200 is a 3D controller
}

// IsGPU tells a processor of NVIDIA's from its bridges and other vendors'
// graphics.
func (d PCIDevice) IsGPU() bool {
	return d.Vendor == "10de" && (strings.HasPrefix(d.Class, "0300") || strings.HasPrefix(d.Class, "0302"))
}

func (d PCIDevice) isSwitch() bool { return d.Vendor == "10de" && strings.HasPrefix(d.Class, "0680") }

func readPCI(_ context.Context, r reader, f *Facts) error {
	const dir = "sys/bus/pci/devices"
	addresses, err := r.names(dir) // absent on a machine without PCI
	if err != nil {
		return err
	}
	for _, address := range addresses {
		d := PCIDevice{Address: address}
		for _, attribute := range []struct {
			file string
			into *string
		}{{"vendor", &d.Vendor}, {"device", &d.Device}, {"class", &d.Class}} {
			text, err := r.text(dir + "/" + address + "/" + attribute.file)
			if err != nil {
				return err
			}
			*attribute.into = strings.TrimPrefix(strings.ToLower(text), "0x")
		}
		if d.IsGPU() || d.isSwitch() {
			f.PCI = append(f.PCI, d)
		}
	}
	return nil
}

var gpuPresent = Check{
	ID: "gpu-present", Title: "GPUs", Source: "airgap: the PCI tree, no driver needed",
	Needs: []string{"pci"}, Run: judgeGPU,
}

func judgeGPU(f *Facts, w *Want) Result {
	count := map[string]int{}
	var order []string
	for _, d := range f.PCI {
		if !d.IsGPU() {
			continue
		}
		if count[d.Device]++; count[d.Device] == 1 {
			order = append(order, d.Device)
		}
	}
	var models []string
	for _, device := range order {
		models = append(models, fmt.Sprintf("%d × NVIDIA 10de:%s", count[device], device))
	}
	found := strings.Join(models, ", ")
	switch {
	case found == "" && w.Is(GPU):
		return Result{Fail, "none in the PCI tree", "an NVIDIA GPU", "take the role gpu from this node, or give the machine its GPU (passthrough, seat, BIOS)"}
	case found == "":
		return skipped("no gpu role, no GPU")
	case !w.Is(GPU):
		return pass("%s; unused, the node has no gpu role", found)
	default:
		return pass("%s", found)
	}
}
