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
	"airgap.dev/airgap/preflight/netprobe"
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

// TestDocsNetwork: the page has the rows of airgap netprobe page, for a cluster behind a load balancer, in
// each language.
func TestDocsNetwork(t *testing.T) {
	for in, dir := range map[netprobe.Language]string{netprobe.English: "", netprobe.Korean: "ko/"} {
		networkTables(t, dir+"network.md", in)
	}
}

func networkTables(t *testing.T, page string, in netprobe.Language) {
	t.Helper()
	heads := func(texts ...string) []string {
		for i, text := range texts {
			texts[i] = in.Say(text)
		}
		return texts
	}
	usual := flowRows(docsConfig(t, "ssh: {}\n"), in)
	made(t, page, "flows", markdownTable(append([][]string{heads("From", "To", "By", "For")}, usual...)...))

	own := [][]string{heads("Port", "Program", "For")}
	seen := map[string]bool{}
	add := func(network []settings.Port, with string) {
		for _, p := range (settings.Listens{ControlPlane: true, Registry: registry.DefaultPort, Network: network, HostPort: settings.HostPort}).Ports() {
			if p.From == settings.OnlySelf && !seen[p.String()] {
				seen[p.String()] = true
				why := in.Say(p.Why)
				if with != "" {
					why = in.Say("%s, with `%s`", why, with)
				}
				own = append(own, []string{p.String(), in.Say(p.Program), why})
			}
		}
	}
	add(nil, "")
	rows := [][]string{heads("With", "From", "To", "By", "For")}
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
		for _, row := range flowRows(c, in) {
			if !slices.ContainsFunc(usual, func(u []string) bool { return slices.Equal(u, row) }) {
				rows = append(rows, append([]string{"`" + other + "`"}, row...))
			}
		}
		add(c.NetworkPorts(), other)
	}
	made(t, page, "plugins", markdownTable(rows...))
	made(t, page, "local-ports", markdownTable(own...))
}

// TestDocsNetworkPorts: each port in the text of the page or in its picture is also in the generated
// tables, or is probed between hosts.
func TestDocsNetworkPorts(t *testing.T) {
	plan, err := hostcheck.ProbePlan(docsConfig(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	tables := regexp.MustCompile(`(?s)<!-- made: .*?<!-- end -->`)
	packets := regexp.MustCompile(`(?m)^    \w+ \d\d:\d\d:\d\d\.\d+ .*$`) // with source ports
	for _, page := range []string{"network.md", "ko/network.md"} {
		text, err := os.ReadFile(filepath.Join(docsDir, page))
		if err != nil {
			t.Fatal(err)
		}
		known := portsIn(fmt.Sprintf("%s %v %v", tables.FindAll(text, -1), plan.UDP, plan.VXLAN))
		knownPorts(t, page, portsIn(string(packets.ReplaceAll(tables.ReplaceAll(text, nil), nil))), known)
		knownPorts(t, "pictures/network.svg", portsIn(wordsOf(t, "pictures/network.svg")), known)
	}
}

func knownPorts(t *testing.T, page string, named, known []string) {
	t.Helper()
	if len(named) < 10 {
		t.Errorf("docs/%s has only the ports %v: does the search still work?", page, named)
	}
	for _, port := range named {
		if !slices.Contains(known, port) {
			t.Errorf("docs/%s has port %s, which no program uses", page, port)
		}
	}
}

// wordsOf returns the text of a picture. Its other numbers are coordinates and colors.
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

// portsIn returns the numbers after TCP, UDP or port, and all numbers with four or five digits: the
// page has no other long numbers.
func portsIn(text string) []string {
	var ports []string
	for _, m := range regexp.MustCompile(`(?:TCP|UDP|port)[ =](\d+)|\b(\d{4,5})\b`).FindAllStringSubmatch(text, -1) {
		ports = append(ports, m[1]+m[2])
	}
	return ports
}

func flowRows(c *config.Cluster, in netprobe.Language) [][]string {
	var rows [][]string
	for _, f := range measure.Flows(c, in) {
		rows = append(rows, []string{f.From, f.To, f.What, f.For})
	}
	return rows
}
