package hostcheck

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/netprobe"
)

// TestMeasuredIsInstalled: airgap install uses the choice of the last airgap netprobe listen, only for the same
// cluster and only on its first host.
func TestMeasuredIsInstalled(t *testing.T) {
	at := func(cluster, node string) *site.Site {
		nodes := []config.Node{
			{Name: "a", Address: "10.0.0.1", Roles: []config.Role{config.ControlPlane}},
			{Name: "b", Address: "10.0.0.2", Roles: []config.Role{config.Worker}},
		}
		c := &config.Cluster{Name: cluster, Nodes: nodes, Network: cni.Config{Plugin: cni.Flannel, Encapsulation: cni.Auto, Port: 8472}}
		n, err := c.Node(node)
		if err != nil {
			t.Fatal(err)
		}
		return &site.Site{Config: c, Node: n}
	}
	passing := func(port int) *netprobe.Matrix {
		m := &netprobe.Matrix{Tried: 2, Of: 2, Hosts: []netprobe.Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}}
		for _, p := range []int{8472, 4789} {
			state := netprobe.NetworkCloses
			if p == port {
				state = netprobe.Open
			}
			m.Verdicts = append(m.Verdicts,
				netprobe.Verdict{From: 0, To: 1, Kind: netprobe.VXLANTCP, Port: p, State: state}, netprobe.Verdict{From: 1, To: 0, Kind: netprobe.VXLANTCP, Port: p, State: state})
		}
		return m
	}
	file := filepath.Join(t.TempDir(), "measured.json")
	listen := func(node string, port int) {
		t.Helper()
		if err := SaveMeasured(at("bank", node), file, passing(port), ui.Discard()); err != nil {
			t.Fatal(err)
		}
	}
	installs := func(cluster, node string, want int) {
		t.Helper()
		s, err := ApplyMeasured(at(cluster, node), file)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Config.Network.Port; got != want || (s.Choice != nil) != (want != 8472) {
			t.Errorf("%s of %s uses port %d with the choice %v, want port %d", node, cluster, got, s.Choice, want)
		}
	}
	installs("bank", "a", 8472)
	listen("b", 4789)
	installs("bank", "a", 8472)
	listen("a", 4789)
	installs("bank", "a", 4789)
	installs("bank", "b", 8472)
	installs("other", "a", 8472)
	listen("a", 8472)
	installs("bank", "a", 8472)
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ApplyMeasured(at("bank", "a"), file); err == nil {
		t.Error("an empty choice is used")
	}
}
