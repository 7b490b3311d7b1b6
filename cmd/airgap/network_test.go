package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/build"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni/cnitest"
	"airgap.dev/airgap/internal/config/configtest"
	"airgap.dev/airgap/preflight/facts"
)

const k8s = configtest.Kubernetes

const withCalico = "network: {plugin: calico}\n"

// TestNetworkOfUpstream: the objects that airgap install applies, planned from airgap.yaml.
func TestNetworkOfUpstream(t *testing.T) {
	upstream := cnitest.Serve(t)
	c := configtest.On(t, "el9", k8s+withCalico)
	plan, err := upstream.Plan(t, c.Network, c.PodCluster(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	var node bundle.Image
	for _, i := range plan.Lock.Images {
		if i.Name == "quay.io/calico/node:v3.32.4" {
			node = i
		}
	}
	if !slices.Contains(node.NeededBy, "network calico: DaemonSet kube-system/calico-node, container calico-node") {
		t.Errorf("locked is %+v", node)
	}
	var text bytes.Buffer
	if err := build.ProofOf(plan).Write(&text); err != nil {
		t.Fatal(err)
	}
	want := "manifest https://raw.githubusercontent.com/projectcalico/calico/v3.32.4/manifests/calico.yaml\n" +
		"           sha256:" + plan.Lock.Network.Sources[0].SHA256 + "\n" +
		"           for network calico\n"
	if !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, &text)
	}
	page, err := papers.Report(plan, "SHA256:key")
	if err != nil || !strings.Contains(string(page), plan.Lock.Network.Sources[0].SHA256) || !strings.Contains(string(page), "network/calico.yaml") {
		t.Errorf("the report has no pod network (%v)", err)
	}

	s := &site.Site{Index: &bundle.Index{Lock: plan.Lock}, Config: c, Node: c.Nodes[0], Machine: site.ThisMachine()}
	s.Machine.Root = t.TempDir()
	read := func(_ context.Context, path string) (io.ReadCloser, error) {
		if path != "network/calico.yaml" {
			t.Errorf("reads %s", path)
		}
		return io.NopCloser(bytes.NewReader(plan.NetworkObjects())), nil
	}
	step := install.NetworkStep(s, read)
	if changes, err := step.Plan(t.Context()); err == nil || !slices.Contains(changes, "apply DaemonSet kube-system/calico-node") || step.Title != "Apply the pod network (calico, VXLAN)" {
		t.Errorf("%s: %q, %v", step.Title, changes, err)
	}
	pinned, err := nodesteps.BootstrapImages(c, c.Nodes[0], plan.Lock)
	if err != nil || !slices.Contains(pinned, "quay.io/calico/cni:v3.32.4") {
		t.Errorf("pinned are %v, %v", pinned, err)
	}
	ports := nodesteps.PortsToOpen(s)
	if !slices.Contains(ports, "4789/udp from nodes") || slices.ContainsFunc(ports, func(p string) bool { return strings.HasPrefix(p, "8472") || strings.HasPrefix(p, "179") }) {
		t.Errorf("ports %v", ports)
	}
}

// TestNetworkOfAChart: images with a digest in the chart are pinned by digest, as the container
// runtime stores them.
func TestNetworkOfAChart(t *testing.T) {
	c := configtest.On(t, "el9", k8s+"network: {plugin: cilium, mtu: 1450}\n")
	plan, err := cnitest.Serve(t).Plan(t, c.Network, c.PodCluster(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	locked := plan.Lock.Network
	if locked.Chart == nil || locked.Chart.Version != "1.20.3" || locked.Path != "network/cilium.yaml" || len(plan.Secrets) > 0 {
		t.Errorf("locked is %+v, with secrets %v", locked, plan.Secrets)
	}
	digest := "sha256:" + strings.Repeat("a", 64)
	locked.Images = []string{"quay.io/cilium/cilium:v1.20.3@" + digest, "quay.io/cilium/cilium-envoy:v1"}
	pinned, err := nodesteps.BootstrapImages(c, c.Nodes[0], plan.Lock)
	if err != nil || !slices.Contains(pinned, "quay.io/cilium/cilium@"+digest) || !slices.Contains(pinned, "quay.io/cilium/cilium-envoy:v1") {
		t.Errorf("pinned are %v, %v", pinned, err)
	}
	s := &site.Site{Index: &bundle.Index{Lock: plan.Lock}, Config: c, Node: c.Nodes[0], Machine: site.ThisMachine()}
	w, err := hostcheck.Want(s, true)
	if err != nil || !w.Network.StrictFails || w.Network.Plugin != "cilium" || w.Network.Modules["vxlan"] == "" {
		t.Errorf("preflight expects %+v, %v", w, err)
	}
	ports := nodesteps.PortsToOpen(s)
	if !slices.Contains(ports, "8472/udp from nodes") || !slices.Contains(ports, "4240/tcp from nodes") {
		t.Errorf("ports %v", ports)
	}
	for _, own := range []facts.Port{{Number: 9891, Protocol: "tcp", For: "cilium-operator gops"}, {Number: 9964, Protocol: "tcp", For: "cilium-envoy metrics"}} {
		if !slices.Contains(w.Ports, own) || strings.Contains(strings.Join(ports, " "), strconv.Itoa(own.Number)) {
			t.Errorf("%v must be free and not opened: preflight has %v, the firewall %v", own, w.Ports, ports)
		}
	}
}
