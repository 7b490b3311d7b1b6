package gpu_test

import (
	"fmt"

	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
)

// The connected host recognizes the GPUs in a survey.
func Example() {
	surveyed := []host.PCIDevice{
		{Address: "0000:17:00.0", Vendor: "10de", Device: "2335", Class: "030200"},
		{Address: "0000:3d:00.0", Vendor: "10de", Device: "2335", Class: "030200"},
	}
	fmt.Println(gpu.Summary(gpu.Detect(surveyed)))
	// Output: 2 × NVIDIA Hopper 10de:2335
}
