package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/netprobe"
)

// firewalldRuns makes every agent of the test find firewalld active, or not.
func firewalldRuns(t *testing.T, runs bool) {
	t.Helper()
	script := "#!/bin/sh\nexit 3\n"
	if runs {
		script = "#!/bin/sh\nexit 0\n"
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // agents are not root
	require.NoError(t, os.WriteFile(filepath.Join(dir, "systemctl"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// ruleset loads a file of nft on a host.
func (n *network) ruleset(host int, text string) {
	n.t.Helper()
	n.run(text, "ip", "netns", "exec", n.space(host), "nft", "-f", "-")
}

// TestOwnFilter: firewalld alone is opened by the installation; rules before its zones, and those of
// other programs, are named and stop.
func TestOwnFilter(t *testing.T) {
	text, err := os.ReadFile("../../packetfilter/testdata/firewalld.nft")
	require.NoError(t, err)
	firewalld := strings.ReplaceAll(string(text), "ens192", "eth0")
	n := newNetwork(t, 4)
	firewalldRuns(t, true)
	n.ruleset(0, firewalld)
	deny := "\tchain filter_IN_public_deny {\n"
	n.ruleset(1, strings.Replace(firewalld, deny, deny+"ip saddr 10.99.0.1 tcp dport 10250 drop\n", 1))
	n.ruleset(2, "table ip filter {\nchain INPUT {\ntype filter hook input priority 0; policy accept;\nct state established,related accept\nip protocol icmp accept\n"+
		"iifname \"lo\" accept\ntcp dport 22 accept\ncounter reject with icmp type host-prohibited\n}\n}\n")
	m := n.matrix(n.plan())

	opened := result(t, m, 3, 0, netprobe.TCP, 6443)
	assert.Equal(t, netprobe.HostCloses, opened.State)
	assert.True(t, opened.Opens, "%+v", opened)
	tunnel := result(t, m, 3, 0, netprobe.VXLANTCP, 8472)
	assert.Equal(t, netprobe.HostCloses, tunnel.State)
	assert.True(t, tunnel.Opens, "%+v", tunnel)
	denied := result(t, m, 0, 1, netprobe.TCP, 10250)
	assert.False(t, denied.Opens)
	assert.Contains(t, denied.Rule, `ip saddr 10.99.0.1 tcp dport 10250 drop" in chain filter_IN_public_deny of table inet firewalld`)
	assert.True(t, result(t, m, 3, 1, netprobe.TCP, 10250).Opens, "the rule is for another host")
	saved := result(t, m, 0, 2, netprobe.TCP, 6443)
	assert.Equal(t, netprobe.HostCloses, saved.State)
	assert.False(t, saved.Opens)
	assert.Contains(t, saved.Rule, "in chain INPUT of table ip filter")

	needs := netprobe.Needs{TCP: n.plan().TCP, VXLAN: 8472, OpensFirewall: true}
	var stops, notes []string
	for _, f := range m.Findings(needs) {
		switch {
		case f.About == netprobe.AboutDuplicates || f.About == netprobe.AboutSize:
		case f.Severity == netprobe.Stops:
			stops = append(stops, f.What+": "+strings.Join(f.Between, ", "))
		case strings.Contains(f.What, "TCP 6443"):
			notes = append(notes, strings.Join(f.Between, ", "))
		}
	}
	assert.Contains(t, strings.Join(stops, "\n"), `TCP 10250 (kubelet) arrives, but the host's own firewall blocks it: "ip saddr 10.99.0.1 tcp dport 10250 drop"`)
	assert.NotContains(t, strings.Join(stops, "\n"), "to h0 (10.99.0.1)", "the installation opens h0")
	assert.Contains(t, strings.Join(notes, "\n"), "to h0 (10.99.0.1)")
	_, err = m.Choose(netprobe.Options{Ports: []int{8472}, OpensFirewall: true})
	assert.ErrorContains(t, err, "to h2 (10.99.0.3)")
}

// TestStoppedFirewalld: rules of a firewalld that does not run stay closed, because the installation
// does not change it.
func TestStoppedFirewalld(t *testing.T) {
	text, err := os.ReadFile("../../packetfilter/testdata/firewalld.nft")
	require.NoError(t, err)
	n := newNetwork(t, 2)
	firewalldRuns(t, false)
	n.ruleset(0, string(text))
	v := result(t, n.matrix(n.plan()), 1, 0, netprobe.TCP, 6443)
	assert.Equal(t, netprobe.HostCloses, v.State)
	assert.False(t, v.Opens)
	assert.Contains(t, v.Rule, "filter_IN_public")
}

// TestUnreceived: packets that a program received, or for a port of another program, are not closed.
func TestUnreceived(t *testing.T) {
	r := &record{Report: &netprobe.Report{ListenErrors: []netprobe.ListenError{{Kind: netprobe.TCP, Port: 6443, Layer: netprobe.AtSocket}}}}
	for _, o := range []netprobe.Observation{
		{From: 1, Kind: netprobe.TCP, Port: 2380, Layer: netprobe.AtInterface}, {From: 1, Kind: netprobe.TCP, Port: 2380, Layer: netprobe.AtSocket},
		{From: 1, Kind: netprobe.TCP, Port: 6443, Layer: netprobe.AtInterface}, {From: 2, Kind: netprobe.TCP, Port: 2380, Layer: netprobe.AtInterface},
		{From: 1, Kind: netprobe.VXLANPing, Port: 8472, Layer: netprobe.AtInterface}, {From: 1, Kind: netprobe.VXLANUDP, Port: 8472, Layer: netprobe.AtSocket},
		{From: 2, Kind: netprobe.VXLANPing, Port: 8472, Layer: netprobe.AtInterface}, {From: 2, Kind: netprobe.IPIP, Layer: netprobe.AtInterface},
	} {
		r.saw(o)
	}
	assert.Equal(t, []netprobe.Closed{{From: 2, Kind: netprobe.TCP, Port: 2380}, {From: 2, Kind: netprobe.VXLANPing, Port: 8472}}, r.unreceived())
}
