package measure

import (
	"bytes"
	"errors"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/cluster/fleet/access"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/preflight/netprobe"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	behindBalancer = `
kubernetes: {version: "1.36.3", controlPlaneEndpoint: "10.0.0.10:8443"}
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: cp2, address: 10.0.0.12, roles: [control-plane]}
  - {name: cp3, address: 10.0.0.13, roles: [control-plane]}
  - {name: w1, address: 10.0.1.21, roles: [worker]}
  - {name: w2, address: 10.0.1.22, roles: [worker], ssh: {port: 2222}}
ssh: {identityFile: ~/.ssh/bank}
`
	twoNodes = `
kubernetes: {version: "1.36.3"}
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: w1, address: 10.0.0.21, roles: [worker]}
`
	ofTheSite = "registry: {existing: {address: harbor.bank.example/airgap}}\n"
	routes    = "network: {plugin: cilium, encapsulation: native}\n"
)

// whole returns an airgap.yaml with the sections of text.
func whole(text string) string {
	return "apiVersion: airgap.dev/v1alpha1\nkind: Cluster\nname: bank" + text +
		"packages: {os: el9, repositories: [{name: baseos, baseURL: https://mirror.example/baseos/, gpgKeys: [https://mirror.example/key]}]}\n"
}

func parse(t *testing.T, text string) *config.Cluster {
	t.Helper()
	c, err := config.Parse("airgap.yaml", []byte(whole(text)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNetworkPage compares the pages of two clusters with testdata. One has a load balancer, SSH and an existing
// registry. The other is minimal and uses routes instead of a tunnel. go test -update writes testdata.
func TestNetworkPage(t *testing.T) {
	for name, text := range map[string]string{"balancer": behindBalancer + ofTheSite, "routes": twoNodes + routes} {
		for in, ending := range map[netprobe.Language]string{netprobe.English: ".txt", netprobe.Korean: ".ko.txt"} {
			t.Run(name+" "+string(in), func(t *testing.T) {
				page := newPage(parse(t, text), in)
				page.Made = time.Time{}
				var got bytes.Buffer
				if err := page.Text(&got); err != nil {
					t.Fatal(err)
				}
				file := filepath.Join("testdata", "network-"+name+ending)
				if *update {
					if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if want, err := os.ReadFile(file); err != nil || got.String() != string(want) {
					t.Errorf("%s, %v: go test -update writes\n%s", file, err, &got)
				}
			})
		}
	}
}

// TestKoreanPageHasNoEnglish: korean.txt has each text of the page, for each pod network. Words in
// English are names of programs and flags only.
func TestKoreanPageHasNoEnglish(t *testing.T) {
	english := regexp.MustCompile(`[A-Za-z']{2,}[,:]? [a-z']{2,}`)
	names := strings.NewReplacer("airgap registry passwd", "", "airgap verify", "", "type 3 code 4", "", "cilium-operator gops", "", "cilium-agent gops", "")
	for _, text := range []string{
		behindBalancer, behindBalancer + ofTheSite, twoNodes + routes,
		twoNodes + "network: {encapsulation: auto}\n", twoNodes + "network: {plugin: flannel, encapsulation: native}\n",
		twoNodes + "network: {plugin: calico, encapsulation: crosssubnet}\n", twoNodes + "network: {plugin: calico, calico: {form: operator}}\n",
		twoNodes + "network: {plugin: calico, encapsulation: native, calico: {bgp: true}}\n", twoNodes + "network: {plugin: cilium}\n",
	} {
		page := newPage(parse(t, text), netprobe.Korean)
		var html, plain bytes.Buffer
		if err := errors.Join(page.HTML(&html), page.Text(&plain)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(html.String(), `<html lang="ko">`) {
			t.Error("the page does not have the language ko")
		}
		body := regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]+>`).ReplaceAllString(html.String(), "|")
		for line := range strings.Lines(body + plain.String()) {
			if found := english.FindString(names.Replace(line)); found != "" {
				t.Errorf("%q is not in Korean, add its text to preflight/netprobe/korean.txt: %s", found, line)
			}
		}
	}
}

func TestPageLanguage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "airgap.yaml")
	if err := os.WriteFile(file, []byte(whole(twoNodes)), 0o600); err != nil {
		t.Fatal(err)
	}
	for language, want := range map[string]string{"en": "all nodes", "ko": "모든 노드"} {
		if page, err := Page(file, language); err != nil || !strings.HasPrefix(page.Flows[0].From, want) {
			t.Errorf("%s: %+v, %v", language, page, err)
		}
	}
	for _, language := range []string{"", "fr", "KO"} {
		if _, err := Page(file, language); !advice.IsUsage(err) || !strings.Contains(err.Error(), "use en or ko") {
			t.Errorf("%q: %v", language, err)
		}
	}
}

// TestFlowsThroughJumpHosts: the page asks for the ways to the jump hosts and behind them, not for a direct way.
func TestFlowsThroughJumpHosts(t *testing.T) {
	text := strings.Replace(behindBalancer, "ssh: {identityFile", "ssh: {proxyJump: [guard@outer, 'inner.bank:2200'], identityFile", 1)
	text = strings.Replace(text, "ssh: {port: 2222}", "ssh: {port: 2222, proxyJump: [none]}", 1)
	var got []string
	for _, f := range sshFlows(parse(t, text), netprobe.English) {
		got = append(got, f.From+" "+f.To+" "+f.What)
	}
	if want := "cp1 outer TCP 22; inner.bank cp2, cp3, w1 TCP 22; outer inner.bank TCP 2200; cp1 w2 TCP 2222"; strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
}

// TestPageWithSiteFile: the page has the ports of SSH that a file of the site has changed, also without airgap preflight
// --all-hosts.
func TestPageWithSiteFile(t *testing.T) {
	dir := t.TempDir()
	file, html := filepath.Join(dir, "ssh.yaml"), filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte("ssh: {port: 2022}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := parse(t, twoNodes)
	s := &site.Site{Config: c, Nodes: c.Nodes, Node: c.Nodes[0]}
	m := &netprobe.Matrix{Tried: 2, Of: 2, Hosts: []netprobe.Host{{Name: "cp1", Address: netip.MustParseAddr("10.0.0.11")}, {Name: "w1", Address: netip.MustParseAddr("10.0.0.21")}}}
	if err := (File{Path: html, Language: "en"}).Write(access.WithFile(t.Context(), file), s, m); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(html); err != nil || !strings.Contains(string(text), "TCP 2022") {
		t.Errorf("%v: the page has no port 2022:\n%s", err, text)
	}
}
