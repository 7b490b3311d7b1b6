package podpath

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/packetfilter"
	"airgap.dev/airgap/preflight/replay"
)

// TestEndingOfLegacy: the legacy backend has separate rules, which nft does not show. They are only read if
// its module is loaded.
func TestEndingOfLegacy(t *testing.T) {
	lost := []*attempt{{err: errors.New("no answer"), packet: packetfilter.Packet{
		From: netip.MustParseAddr("10.244.0.6"), To: netip.MustParseAddr("10.96.0.5"), Protocol: "udp", Port: port, Link: "agtry0", Out: "agtry1",
	}}}
	const none, rules = "-- run/nft --stateless list ruleset --\n", "-- run/iptables-legacy-save --\n*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 10.96.0.0/12 -p udp -j DROP\nCOMMIT\n" +
		"*filter\n:INPUT DROP [0:0]\n:FORWARD DROP [0:0]\n-A FORWARD -o ens1 -j DROP\nCOMMIT\n"
	for recorded, want := range map[string][]string{
		none + rules: nil,
		none + rules + "-- fs/proc/net/ip_tables_names --\nraw\nfilter\n":                                   {`"-A PREROUTING -d 10.96.0.0/12 -p udp -j DROP" in chain PREROUTING of table ip raw`},
		none + "-- fs/proc/net/ip_tables_names --\nraw\n-- fail/1/iptables-legacy-save --\nnot permitted\n": nil,
		none + "-- fs/proc/net/ip_tables_names --\nraw\n":                                                   nil,
	} {
		h, err := replay.Host([]byte(recorded))
		require.NoError(t, err)
		assert.Equal(t, want, ending(t.Context(), h, lost), recorded)
	}
	assert.Empty(t, ending(t.Context(), nil, nil))
}
