package main

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
)

const docsSite = `apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes: {version: "1.36.3", controlPlaneEndpoint: "k8s.bank.example:6443"}
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: cp2, address: 10.0.0.12, roles: [control-plane]}
  - {name: cp3, address: 10.0.0.13, roles: [control-plane]}
  - {name: w1, address: 10.0.0.21, roles: [worker]}
packages:
  os: el9
  repositories: [{name: baseos, baseURL: "https://mirror.bank.example/", gpgKeys: [key]}]
`

func docsConfig(t *testing.T, more string) *config.Cluster {
	t.Helper()
	c, err := config.Parse("airgap.yaml", []byte(docsSite+more))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDocsNetwork: the rows of `airgap netprobe page`, of a cluster behind a balancer.
func TestDocsNetwork(t *testing.T) {
	usual := flowRows(docsConfig(t, "ssh: {}\n"))
	inBoth(t, "network.md", "flows", markdownTable(append([][]string{{"From", "To", "By", "For"}}, usual...)...))

	rows := [][]string{{"Network", "From", "To", "By", "For"}}
	for _, other := range []string{"{plugin: flannel, encapsulation: native}", "{plugin: calico}", "{plugin: cilium}"} {
		for _, row := range flowRows(docsConfig(t, "ssh: {}\nnetwork: "+other+"\n")) {
			if !slices.ContainsFunc(usual, func(u []string) bool { return slices.Equal(u, row) }) {
				rows = append(rows, append([]string{"`" + strings.Trim(other, "{}") + "`"}, row...))
			}
		}
	}
	inBoth(t, "network.md", "plugins", markdownTable(rows...))

	own := [][]string{{"Port", "Program", "For"}}
	for _, p := range (kubeadm.Listens{ControlPlane: true, Registry: registry.DefaultPort}).Ports() {
		if p.From == kubeadm.OnlySelf {
			own = append(own, []string{p.String(), p.Program, p.Why})
		}
	}
	made(t, "network.md", "local-ports", markdownTable(own...))
}

func flowRows(c *config.Cluster) [][]string {
	var rows [][]string
	for _, f := range flows(c) {
		rows = append(rows, []string{f.From, f.To, f.What, f.For})
	}
	return rows
}
