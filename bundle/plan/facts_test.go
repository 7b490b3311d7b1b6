package plan

import (
	"net/netip"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/config/configtest"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/preflight/facts"
)

// TestUnsurveyed: with facts of some servers the others are assumed, by host name or address.
func TestUnsurveyed(t *testing.T) {
	c := twoNodes(t)
	for host, want := range map[string]string{"cp1": "w1", "w1.bank.example": "cp1", "w10": "cp1 w1"} {
		r, err := packageRequest(c, []*facts.Facts{{Host: host}}, nil)
		if err != nil || strings.Join(r.Assumed, " ") != want {
			t.Errorf("facts of %s: %q are assumed, want %s; %v", host, r.Assumed, want, err)
		}
	}
	byAddress := &facts.Facts{Host: "srv17", Links: []facts.Link{{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.21/24")}}}}
	if r, err := packageRequest(c, []*facts.Facts{byAddress}, nil); err != nil || strings.Join(r.Assumed, " ") != "cp1" {
		t.Errorf("facts of a host of another name, with w1's address: %q are assumed, %v", r.Assumed, err)
	}
	other := &facts.Facts{Host: "cp1"}
	if by := byNode(c, []*facts.Facts{byAddress, other}); len(by) != 2 || by["w1"] != byAddress || by["cp1"] != other {
		t.Errorf("facts by node: %v", by)
	}
	if r, err := packageRequest(c, nil, nil); err != nil || len(r.Assumed) > 0 {
		t.Errorf("without any facts no server is in Assumed: %q, %v", r.Assumed, err)
	}
}

// TestPackagesOfAirgap: a plan ignores packages that airgap installed, because another build
// may replace them, and public keys. It uses the other installed packages.
func TestPackagesOfAirgap(t *testing.T) {
	known := &facts.Facts{
		Host: "node1",
		Packages: []facts.Package{
			{Name: "bash", Epoch: "0", Version: "5.1", Release: "1.el9", Arch: "x86_64"},
			{Name: "kubelet", Epoch: "0", Version: "1.35.8", Release: "1", Arch: "x86_64"},
			{Name: "kubectl", Epoch: "0", Version: "1.36.0", Release: "1", Arch: "x86_64"}, // updated by the operator
			{Name: "gpg-pubkey", Epoch: "0", Version: "1", Release: "2", Arch: "(none)"},
		},
		InstalledByAirgap: []nevra.Text{nevra.MustParse("kubelet-0:1.35.8-1.x86_64"), nevra.MustParse("kubectl-0:1.35.8-1.x86_64")},
	}
	in, err := installedPackages(known)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range in.Packages {
		names = append(names, p.String())
	}
	if len(names) != 2 || names[0] != "bash-0:5.1-1.el9.x86_64" || names[1] != "kubectl-0:1.36.0-1.x86_64" {
		t.Errorf("the plan uses %q", names)
	}
}

// twoNodes returns a cluster with cp1 and w1.
func twoNodes(t *testing.T) *config.Cluster {
	t.Helper()
	c := configtest.On(t, "el9", configtest.Kubernetes)
	c.Nodes = append(c.Nodes, config.Node{Name: "w1", Address: "192.0.2.21", Roles: []config.Role{config.Worker}})
	return c
}
