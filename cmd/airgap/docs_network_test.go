package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/measure"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/settings"
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

	own := [][]string{{"Port", "Program", "For"}}
	seen := map[string]bool{}
	add := func(network []settings.Port, with string) {
		for _, p := range (settings.Listens{ControlPlane: true, Registry: registry.DefaultPort, Network: network}).Ports() {
			if p.From == settings.OnlySelf && !seen[p.String()] {
				seen[p.String()] = true
				own = append(own, []string{p.String(), p.Program, p.Why + with})
			}
		}
	}
	add(nil, "")
	rows := [][]string{{"With", "From", "To", "By", "For"}}
	for _, other := range []string{
		"network: {plugin: flannel, encapsulation: native}",
		"network: {plugin: calico}",
		"network: {plugin: calico, calico: {form: operator}}",
		"network: {plugin: calico, encapsulation: native, calico: {bgp: true}}",
		"network: {plugin: cilium}",
		"network: {plugin: cilium, encapsulation: native}",
		"registry: {existing: {address: harbor.bank.example/airgap}}",
	} {
		c := docsConfig(t, "ssh: {}\n"+other+"\n")
		for _, row := range flowRows(c) {
			if !slices.ContainsFunc(usual, func(u []string) bool { return slices.Equal(u, row) }) {
				rows = append(rows, append([]string{"`" + other + "`"}, row...))
			}
		}
		add(c.NetworkPorts(), ", with `"+other+"`")
	}
	inBoth(t, "network.md", "plugins", markdownTable(rows...))
	inBoth(t, "network.md", "local-ports", markdownTable(own...))
}

// TestDocsNetworkPorts: a port that the page names in its own words, or its picture, stands in
// its tables, which the program makes, or is tried between hosts.
func TestDocsNetworkPorts(t *testing.T) {
	plan, err := hostcheck.ProbePlan(docsConfig(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	tables := regexp.MustCompile(`(?s)<!-- made: .*?<!-- end -->`)
	for _, page := range []string{"network.md", "ko/network.md"} {
		text, err := os.ReadFile(filepath.Join(docsDir, page))
		if err != nil {
			t.Fatal(err)
		}
		known := portsIn(fmt.Sprintf("%s %v %v", tables.FindAll(text, -1), plan.UDP, plan.VXLAN))
		knownPorts(t, page, portsIn(string(tables.ReplaceAll(text, nil))), known)
		knownPorts(t, "pictures/network.svg", portsIn(wordsOf(t, "pictures/network.svg")), known)
	}
}

func knownPorts(t *testing.T, page string, named, known []string) {
	t.Helper()
	if len(named) < 10 {
		t.Errorf("docs/%s names the ports %v alone: are they looked for still?", page, named)
	}
	for _, port := range named {
		if !slices.Contains(known, port) {
			t.Errorf("docs/%s names port %s, which nothing uses", page, port)
		}
	}
}

// wordsOf a picture are what people read there: its other numbers are places and colours.
func wordsOf(t *testing.T, picture string) string {
	t.Helper()
	svg, err := os.ReadFile(filepath.Join(docsDir, picture))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, m := range regexp.MustCompile(`<text[^>]*>([^<]*)</text>`).FindAllSubmatch(svg, -1) {
		words = append(words, string(m[1]))
	}
	return strings.Join(words, "\n")
}

// portsIn are the numbers that say they are ports, and those of four or five digits: no others
// are as long there.
func portsIn(text string) []string {
	var ports []string
	for _, m := range regexp.MustCompile(`(?:TCP|UDP|port)[ =](\d+)|\b(\d{4,5})\b`).FindAllStringSubmatch(text, -1) {
		ports = append(ports, m[1]+m[2])
	}
	return ports
}

func flowRows(c *config.Cluster) [][]string {
	var rows [][]string
	for _, f := range measure.Flows(c) {
		rows = append(rows, []string{f.From, f.To, f.What, f.For})
	}
	return rows
}
