package leave

import (
	"io"
	"os"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// The rules are what nft lists after the iptables of kube-proxy and flannel, in
// tables that others use as well, beside kube-proxy's table in nftables mode.
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
