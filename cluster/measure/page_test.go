package measure

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"airgap.dev/airgap/internal/config"
)

var update = flag.Bool("update", false, "write the golden files")

// TestNetworkPage compares the pages of two clusters with those of testdata: one behind a
// balancer, with SSH and a registry of the site's own, and the smallest there is, with
// routes instead of a tunnel. go test -update writes them.
func TestNetworkPage(t *testing.T) {
	for name, text := range map[string]string{
		"balancer": `
kubernetes: {version: "1.36.3", controlPlaneEndpoint: "10.0.0.10:8443"}
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: cp2, address: 10.0.0.12, roles: [control-plane]}
  - {name: cp3, address: 10.0.0.13, roles: [control-plane]}
  - {name: w1, address: 10.0.1.21, roles: [worker]}
  - {name: w2, address: 10.0.1.22, roles: [worker], ssh: {port: 2222}}
ssh: {identityFile: ~/.ssh/bank}
registry: {existing: {address: harbor.bank.example/airgap}}
`,
		"routes": `
kubernetes: {version: "1.36.3"}
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: w1, address: 10.0.0.21, roles: [worker]}
network: {plugin: cilium, encapsulation: native}
`,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse("airgap.yaml", []byte("apiVersion: airgap.dev/v1alpha1\nkind: Cluster\nname: bank"+text+
				"packages: {os: el9, repositories: [{name: baseos, baseURL: https://mirror.example/baseos/, gpgKeys: [https://mirror.example/key]}]}\n"))
			if err != nil {
				t.Fatal(err)
			}
			page := newPage(c)
			page.Made = time.Time{}
			var got bytes.Buffer
			if err := page.Text(&got); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "network-"+name+".txt")
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
