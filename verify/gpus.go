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
		id: "gpus", title: "Every card on the bus works, and can be asked for", watches: []kind{nodes, nodeReports}, every: time.Second,
		judge: judgeGPUs, expects: expectGPUs,
	}
}

// expectGPUs expects cards in the report of each node that offers some. A cluster may
// have none.
func expectGPUs(v view) expectation {
	gpu := part{"gpu", func(r nodereport.Report) bool { return r.GPU != nil }}
	offers := func(n *corev1.Node) bool { return len(n.Status.Allocatable) > 0 }
	switch e := v.expectPart(part{name: "gpu"}); {
	case e != (expectation{}):
		return e
	case !slices.ContainsFunc(v.allNodes(), offers) && len(v.reportsWith(gpu)) == 0:
		return expectation{nothing: "no host has cards"}
	}
	return v.expectPartOf(offers, gpu)
}

const (
	gpuDomain   = "nvidia.com/" // of what the device plugin offers
	gpuResource = corev1.ResourceName(gpuDomain + "gpu")
)

// judgeGPUs compares what four say of one thing: the bus, the kernel, NVIDIA's
// library and the scheduler; and with what airgap has set up. A host without a
// driver and without a device plugin is one whose cards nobody has set up.
func judgeGPUs(v view) []Finding {
	var findings []Finding
	for _, r := range v.freshReports() {
		g := r.report.GPU
		if g == nil {
			continue
		}
		found := missingCards(g)
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

// missingCards is about one that has left the bus, which no driver tells of after
// a reboot.
func missingCards(g *nodereport.GPU) []Finding {
	if g.Want == nil || g.Bus >= g.Want.Count {
		return nil
	}
	return []Finding{{
		Saw: fmt.Sprintf("%d on the bus, %d when they were set up", g.Bus, g.Want.Count), Want: "all of them",
		Fix: "lspci -d 10de:; dmesg | grep -i 'fallen off the bus'; power the server off and on. One that was taken out: rm /var/lib/airgap/report.json, then the same airgap install, or join, again",
	}}
}

func unloaded(g *nodereport.GPU, kernel string) []Finding {
	switch {
	case g.Want == nil || g.Bus == 0:
		return nil
	case g.Module:
		return []Finding{{
			Saw: "NVIDIA's kernel module is not loaded", Want: "loaded",
			Fix: "modprobe nvidia; dmesg | grep -i -e nvrm -e nouveau",
		}}
	default:
		return []Finding{{
			Saw: "no NVIDIA module for the running kernel " + kernel, Want: "one, and loaded",
			Fix: "dkms status; boot the kernel that it was made for (grubby --info=ALL), or bring a bundle made with a new survey of this host",
		}}
	}
}

// drivers is about the version and what is wrong where a driver is loaded.
func drivers(g *nodereport.GPU) []Finding {
	var found []Finding
	if g.Want != nil && g.Want.Driver != "" && g.Driver != g.Want.Driver {
		found = append(found, Finding{
			Saw: "kernel module " + g.Driver, Want: g.Want.Driver + ", as locked",
			Fix: "rpm -qa '*nvidia*'; if the packages are right, reboot; else the same airgap install, or join, again",
		})
	}
	if g.NVML == nil {
		return found
	}
	found = append(found, library(g)...)
	for _, fault := range g.NVML.Faults {
		found = append(found, Finding{Saw: withUUID(fault, g.NVML.GPUs), Want: "no faults", Fix: "airgap gpu status; dmesg | grep -i -e nvrm -e xid; drain the node before its cards are reset"})
	}
	return found
}

// withUUID adds the name that the device plugin's log has for the card that a fault
// begins with: "GPU 3 (0000:4e:00.0): …", or by the kernel's log "0000:4e:00.0: …".
func withUUID(fault string, cards []nodereport.Card) string {
	subject, _, _ := strings.Cut(fault, ": ")
	for _, c := range cards {
		if c.UUID != "" && c.Address != "" && (subject == c.Address || strings.HasSuffix(subject, "("+c.Address+")")) {
			return fault + " [" + c.UUID + "]"
		}
	}
	return fault
}

// library is about NVIDIA's beside bus and kernel. An error of it says itself what
// to do; where the site keeps the driver in a container, the host has no library,
// and nobody wants one there.
func library(g *nodereport.GPU) []Finding {
	var found []Finding
	switch {
	case g.NVML.Error != "" && g.Want == nil:
		return nil
	case g.NVML.Error != "":
		return []Finding{{Saw: g.NVML.Error, Want: "an answer of NVIDIA's library", Fix: "airgap gpu status"}}
	}
	if g.NVML.Driver != g.Driver {
		found = append(found, Finding{
			Saw: fmt.Sprintf("kernel module %s, library %s", g.Driver, g.NVML.Driver), Want: "the same version",
			Fix: "reboot; if they still differ, install the driver's packages again, all of one version",
		})
	}
	if g.NVML.Cards != g.Bus {
		found = append(found, Finding{
			Saw: fmt.Sprintf("%d on the bus, %d for NVML", g.Bus, g.NVML.Cards), Want: "the same number",
			Fix: "nvidia-smi -L; dmesg | grep -i nvrm; reboot",
		})
	}
	return found
}

// offered compares with what the scheduler should have: by the host's word, or,
// where nobody has set the cards up and a device plugin runs, one for each card.
func offered(g *nodereport.GPU, has corev1.ResourceList) []Finding {
	want := g.Offers
	if _, told := has[gpuResource]; told && g.Want == nil {
		want = []nodereport.Offer{{Resource: string(gpuResource), Count: g.Bus}}
	}
	var found []Finding
	for _, o := range want {
		q := has[corev1.ResourceName(o.Resource)]
		if int(q.Value()) != o.Count {
			found = append(found, Finding{
				Saw: fmt.Sprintf("%d %s for the scheduler", q.Value(), o.Resource), Want: fmt.Sprint(o.Count),
				Fix: "kubectl get pods -A -o wide | grep device-plugin, and its log; airgap gpu status; after a change of the section gpu: the same airgap join again",
			})
		}
	}
	return found
}

// cardsOf keeps of a node's resources those of the device plugin; nil where it
// has told of none.
func cardsOf(all corev1.ResourceList) corev1.ResourceList {
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
