package hostcheck

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/fleet/access"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
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

// TestMeasuredWithoutSSH: a measurement without SSH is used where airgap install does not measure itself. A file of the
// site decides that too, for the preflight of one host as for the installation.
func TestMeasuredWithoutSSH(t *testing.T) {
	dir := t.TempDir()
	file, siteFile := filepath.Join(dir, "measured.json"), filepath.Join(dir, "ssh.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`{"cluster": "bank", "encapsulation": "vxlan", "port": 4789, "why": ["8472 is closed"]}`), 0o600))
	require.NoError(t, os.WriteFile(siteFile, []byte("ssh: {user: ops2}\n"), 0o600))
	a := config.Node{Name: "a", Address: "10.0.0.1", Roles: []config.Role{config.ControlPlane}}
	b := config.Node{Name: "b", Address: "10.0.0.2", Roles: []config.Role{config.Worker}}
	for name, tc := range map[string]struct {
		nodes     []config.Node
		section   *remote.Config
		file      string
		noSSH     bool
		wantsPort int
	}{
		"no section":                 {[]config.Node{a, b}, nil, "", false, 4789},
		"section":                    {[]config.Node{a, b}, &remote.Config{User: "ops"}, "", false, 8472},
		"section, --no-ssh":          {[]config.Node{a, b}, &remote.Config{User: "ops"}, "", true, 4789},
		"file of the site":           {[]config.Node{a, b}, nil, siteFile, false, 8472},
		"file of the site, --no-ssh": {[]config.Node{a, b}, nil, siteFile, true, 4789},
		"one host":                   {[]config.Node{a}, &remote.Config{User: "ops"}, "", false, 4789},
	} {
		c := &config.Cluster{Name: "bank", Nodes: tc.nodes, SSH: tc.section, Network: cni.Config{Plugin: cni.Flannel, Encapsulation: cni.Auto, Port: 8472}}
		s, err := AsMeasured(access.WithFile(t.Context(), tc.file), &site.Site{Config: c, Node: a}, tc.noSSH, file)
		require.NoError(t, err, name)
		assert.Equal(t, tc.wantsPort, s.Config.Network.Port, name)
	}
}
