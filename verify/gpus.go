package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/nodereport"
)

func gpus() rule {
	return rule{
		id: "gpus", title: "GPUs work, and pods can request them", watches: []kind{nodes, nodeReports}, every: time.Second,
		judge: judgeGPUs, expects: expectGPUs,
	}
}

// expectGPUs expects GPUs in the report of each node that offers some. A cluster may have no
// GPUs.
func expectGPUs(v view) expectation {
	gpu := part{name: "gpu", in: func(r nodereport.Report) bool { return r.GPU != nil }}
	offers := func(n *corev1.Node) bool { return len(n.Status.Allocatable) > 0 }
	switch e := v.expectPart(part{name: "gpu"}); {
	case e != (expectation{}):
		return e
	case !slices.ContainsFunc(v.allNodes(), offers) && len(v.reportsWith(gpu)) == 0:
		return expectation{nothing: "no host has GPUs"}
	}
	return v.expectPartOf(offers, gpu)
}

const (
	gpuDomain   = "nvidia.com/" // of the resources of the device plugin
	gpuResource = corev1.ResourceName(gpuDomain + "gpu")
)

// judgeGPUs compares the numbers of the PCI bus, the kernel, the NVIDIA library and the
// scheduler with each other, and with the setup by airgap. On a host without a driver and without
// a device plugin, the GPUs are not set up.
func judgeGPUs(v view) []Finding {
	var findings []Finding
	for _, r := range v.freshReports() {
		g := r.report.GPU
		if g == nil {
			continue
		}
		found := missingGPUs(g)
		if g.Driver == "" {
			found = append(found, unloaded(g, r.report.Kernel)...)
		} else {
			found = append(found, drivers(g)...)
		}
		if n := v.node(r.name); n != nil {
			found = append(found, offered(g, n.Status.Allocatable)...)
		}
		for _, f := range found {
			f.Object, f.Fix = "Node "+r.name+", GPUs", "on "+r.name+": "+f.Fix
			findings = append(findings, f)
		}
	}
	return findings
}

// missingGPUs finds GPUs that have left the bus. After a reboot, no driver reports them.
func missingGPUs(g *nodereport.GPU) []Finding {
	if g.Want == nil || g.Bus >= g.Want.Count {
		return nil
	}
	return []Finding{{
		Saw: fmt.Sprintf("%d on the PCI bus, %d when airgap set them up", g.Bus, g.Want.Count), Want: "all of them",
		Fix: "lspci -d 10de:; dmesg | grep -i 'fallen off the bus'; power the server off and on; " +
			"if a GPU was removed on purpose: rm /var/lib/airgap/report.json, then run the same airgap install or airgap join again",
	}}
}

func unloaded(g *nodereport.GPU, kernel string) []Finding {
	switch {
	case g.Want == nil || g.Bus == 0:
		return nil
	case g.Module:
		return []Finding{{
			Saw: "the NVIDIA kernel module is not loaded", Want: "loaded",
			Fix: "modprobe nvidia; dmesg | grep -i -e nvrm -e nouveau",
		}}
	default:
		return []Finding{{
			Saw: "no NVIDIA kernel module for the running kernel " + kernel, Want: "a module for this kernel, and loaded",
			Fix: "dkms status; boot the kernel that the module was built for (grubby --info=ALL), or use a bundle that was made with a new survey of this host",
		}}
	}
}

// drivers compares the driver versions and reports the faults if a driver is loaded.
func drivers(g *nodereport.GPU) []Finding {
	var found []Finding
	if g.Want != nil && g.Want.Driver != "" && g.Driver != g.Want.Driver {
		found = append(found, Finding{
			Saw: "kernel module " + g.Driver, Want: g.Want.Driver + ", the locked version",
			Fix: "rpm -qa '*nvidia*'; if the packages have the locked version, reboot; otherwise run the same airgap install or airgap join again",
		})
	}
	if g.NVML == nil {
		return found
	}
	found = append(found, library(g)...)
	for _, fault := range g.NVML.Faults {
		found = append(found, Finding{Saw: withUUID(fault, g.NVML.GPUs), Want: "no faults", Fix: "airgap gpu status; dmesg | grep -i -e nvrm -e xid; drain the node before you reset its GPUs"})
	}
	return found
}

// withUUID appends the UUID that the device plugin logs for the GPU at the start of a fault:
// "GPU 3 (0000:4e:00.0): …", or from the kernel log "0000:4e:00.0: …".
func withUUID(fault string, list []nodereport.GPUDevice) string {
	subject, _, _ := strings.Cut(fault, ": ")
	for _, c := range list {
		if c.UUID != "" && c.Address != "" && (subject == c.Address || strings.HasSuffix(subject, "("+c.Address+")")) {
			return fault + " [" + c.UUID + "]"
		}
	}
	return fault
}

// library compares the NVIDIA library with the bus and the kernel. Its error contains the fix. If
// the site runs the driver in a container, the host needs no library.
func library(g *nodereport.GPU) []Finding {
	var found []Finding
	switch {
	case g.NVML.Error != "" && g.Want == nil:
		return nil
	case g.NVML.Error != "":
		return []Finding{{Saw: g.NVML.Error, Want: "an answer from the NVIDIA library", Fix: "airgap gpu status"}}
	}
	if g.NVML.Driver != g.Driver {
		found = append(found, Finding{
			Saw: fmt.Sprintf("kernel module %s, library %s", g.Driver, g.NVML.Driver), Want: "the same version",
			Fix: "reboot; if they still differ, install all driver packages again in the same version",
		})
	}
	if g.NVML.Cards != g.Bus {
		found = append(found, Finding{
			Saw: fmt.Sprintf("%d on the PCI bus, %d in NVML", g.Bus, g.NVML.Cards), Want: "the same number",
			Fix: "nvidia-smi -L; dmesg | grep -i nvrm; reboot",
		})
	}
	return found
}

// offered compares the allocatable resources with the resources that the host reports. If the
// GPUs are not set up by airgap and a device plugin runs, it expects one resource for each GPU.
func offered(g *nodereport.GPU, has corev1.ResourceList) []Finding {
	want := g.Offers
	if _, ok := has[gpuResource]; ok && g.Want == nil {
		want = []nodereport.Offer{{Resource: string(gpuResource), Count: g.Bus}}
	}
	var found []Finding
	for _, o := range want {
		q := has[corev1.ResourceName(o.Resource)]
		if int(q.Value()) != o.Count {
			found = append(found, Finding{
				Saw: fmt.Sprintf("%d %s allocatable", q.Value(), o.Resource), Want: fmt.Sprint(o.Count),
				Fix: "kubectl get pods -A -o wide | grep device-plugin; read the log of that pod; airgap gpu status; after a change of the section gpu, run the same airgap join again",
			})
		}
	}
	return found
}

// gpuResources returns the resources of the device plugin; nil if a node has none.
func gpuResources(all corev1.ResourceList) corev1.ResourceList {
	var kept corev1.ResourceList
	for name, q := range all {
		if strings.HasPrefix(string(name), gpuDomain) {
			if kept == nil {
				kept = corev1.ResourceList{}
			}
			kept[corev1.ResourceName(once(string(name)))] = q
		}
	}
	return kept
}
