package verify

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func gpus() rule {
	return rule{
		id: "gpus", title: "Every card on the bus works, and can be asked for", watches: []kind{nodes, nodeReports},
		judge: judgeGPUs,
	}
}

const gpuResource = corev1.ResourceName("nvidia.com/gpu")

// judgeGPUs compares what three ask for one thing: the bus, NVIDIA's library
// and the scheduler. A host without a driver and without a device plugin is one
// whose cards nobody has set up.
func judgeGPUs(v view) []Finding {
	var findings []Finding
	for _, r := range all[*keptReport](v, nodeReports) {
		g := r.report.GPU
		if g == nil {
			continue
		}
		var saw []string
		if g.NVML != nil {
			if g.NVML.Cards != g.Bus {
				saw = append(saw, fmt.Sprintf("%d on the bus, %d for NVML", g.Bus, g.NVML.Cards))
			}
			if g.Driver != "" && g.NVML.Driver != g.Driver {
				saw = append(saw, fmt.Sprintf("kernel module %s, library %s", g.Driver, g.NVML.Driver))
			}
			saw = append(saw, g.NVML.Faults...)
		}
		if n := v.node(r.name); n != nil {
			if q, told := n.Status.Allocatable[gpuResource]; told && int(q.Value()) != g.Bus {
				saw = append(saw, fmt.Sprintf("%d on the bus, %d for the scheduler", g.Bus, q.Value()))
			}
		}
		if len(saw) > 0 {
			findings = append(findings, Finding{
				Object: "Node " + r.name + ", GPUs", Saw: strings.Join(saw, "; "), Want: "the same number and version everywhere, no faults",
				Fix: "on " + r.name + ": nvidia-smi; dmesg | grep -i -e nvrm -e xid; kubectl get pods -A -o wide | grep device-plugin",
			})
		}
	}
	return findings
}
