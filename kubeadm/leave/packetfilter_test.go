package leave

import (
	"io"
	"os"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// TestPacketFilter uses a ruleset of nft with the iptables rules of kube-proxy and flannel in shared
// tables, and with kube-proxy's own table of nftables mode.
func TestPacketFilter(t *testing.T) {
	f, m := newMember(t)
	listed, err := os.ReadFile("testdata/ruleset.json")
	if err != nil {
		t.Fatal(err)
	}
	var script string
	f.Answers["nft --json"] = func(host.Cmd) ([]byte, error) { return listed, nil }
	f.Answers["nft --file -"] = func(c host.Cmd) ([]byte, error) {
		data, err := io.ReadAll(c.Stdin)
		script = string(data)
		return nil, err
	}
	m.Network.Chains = []string{"FLANNEL-"}
	if err := m.cleanFilter(t.Context(), record{Tables: []string{"inet bank", "ip filter"}, Chains: []string{"ip filter INPUT"}}); err != nil {
		t.Fatal(err)
	}
	hosttest.Golden(t, "ruleset.golden.nft", []byte(script))
}
