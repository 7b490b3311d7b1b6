package packetfilter

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func node() Packet {
	return Packet{From: netip.MustParseAddr("10.0.0.12"), To: netip.MustParseAddr("10.0.0.11"), Protocol: "tcp", Port: 6443, Link: "ens192"}
}

// firewalldWith is the rule set of firewalld 1.3 with its default configuration, and with more rules
// in its chains.
func firewalldWith(t *testing.T, more map[string]string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/firewalld.nft")
	require.NoError(t, err)
	out := string(text)
	for chain, rules := range more {
		heading := "\tchain " + chain + " {\n"
		require.Contains(t, out, heading)
		out = strings.Replace(out, heading, heading+"\t\t"+rules+"\n", 1)
	}
	return out
}

// TestEndInFirewalld: the accept rules of a zone come after some rules of firewalld, and before others.
func TestEndInFirewalld(t *testing.T) {
	const end, api = "reject with icmpx admin-prohibited", "tcp dport 6443 ct state { new, untracked } "
	for name, tc := range map[string]struct {
		more  map[string]string
		opens bool
		rule  string // part of the rule; "" if the packet passes
	}{
		"as installed":                 {nil, true, end},
		"its own rule":                 {map[string]string{"filter_IN_public_allow": api + "accept"}, false, ""},
		"a rich rule denies":           {map[string]string{"filter_IN_public_deny": "ip saddr 10.0.0.0/24 " + api + "reject"}, false, `ip saddr 10.0.0.0/24 tcp dport 6443`},
		"a rich rule denies others":    {map[string]string{"filter_IN_public_deny": "ip saddr 10.9.0.0/24 drop"}, true, end},
		"a rich rule of high priority": {map[string]string{"filter_IN_public_pre": "tcp dport 6000-7000 drop"}, false, "in chain filter_IN_public_pre of table inet firewalld"},
		"a rich rule of low priority":  {map[string]string{"filter_IN_public_post": "tcp dport 6443 drop"}, true, "filter_IN_public_post"},
		"a policy before the zones":    {map[string]string{"filter_IN_policy_allow-host-ipv6_deny": "tcp dport 6443 drop"}, false, "filter_IN_policy_allow-host-ipv6_deny"},
		"a policy after the zones":     {map[string]string{"filter_INPUT_POLICIES_post": `iifname "ens192" drop`}, true, "filter_INPUT_POLICIES_post"},
		"a zone of a network":          {map[string]string{"filter_INPUT_ZONES": "ip saddr 10.0.0.0/24 goto filter_IN_internal"}, true, "filter_IN_internal"},
		"a zone of a set": {
			map[string]string{"filter_INPUT_ZONES": "ip saddr @nodes goto filter_IN_internal"}, false,
			`in chain filter_IN_internal of table inet firewalld, which "ip saddr @nodes goto filter_IN_internal" selects`,
		},
		"a zone of another set":        {map[string]string{"filter_INPUT_ZONES": "ip saddr @others goto filter_IN_internal"}, true, "filter_IN_public"},
		"a zone of a hardware address": {map[string]string{"filter_INPUT_ZONES": "ether saddr 00:11:22:33:44:55 goto filter_IN_internal"}, true, "filter_IN_public"},
		"a zone of another interface":  {map[string]string{"filter_INPUT_ZONES": `iifname "eno*" goto filter_IN_internal`}, true, "filter_IN_public"},
		"a trusted interface":          {map[string]string{"filter_INPUT_ZONES": `iifname "ens192" goto filter_IN_trusted`}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			s.NFT("", firewalldWith(t, tc.more))
			got := s.End(node())
			assert.Equal(t, tc.opens, got.Opens, "%+v", got)
			assert.Contains(t, got.Rule, tc.rule)
			assert.Equal(t, tc.rule == "", got.Rule == "", "%+v", got)
		})
	}
}

// TestEndElsewhere: rules of other programs stop packets in spite of firewalld.
func TestEndElsewhere(t *testing.T) {
	input := func(rules ...string) string {
		return "table inet site {\nset few { type inet_service\n elements = { 22, 443 } }\nchain in {\ntype filter hook input priority filter; policy accept;\n" + strings.Join(rules, "\n") + "\n}\n" +
			"chain web { tcp dport { 80, 443 } accept\n}\n}\n"
	}
	const old = "ct state { established, related } accept\n iifname \"lo\" accept\n"
	for name, tc := range map[string]struct {
		nft, iptables string
		rule          string // "" if the packet passes
		sure          bool
	}{
		"iptables-services": {iptables: "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m state --state RELATED,ESTABLISHED -j ACCEPT\n-A INPUT -p icmp -j ACCEPT\n-A INPUT -i lo -j ACCEPT\n" +
			"-A INPUT -p tcp -m state --state NEW -m tcp --dport 22 -j ACCEPT\n-A INPUT -j REJECT --reject-with icmp-host-prohibited\n", rule: "--reject-with icmp-host-prohibited", sure: true},
		"iptables with a rule of the port": {iptables: "*filter\n:INPUT DROP [0:0]\n-A INPUT -s 10.0.0.0/24 -p tcp -m multiport --dports 80,6000:7000 -j ACCEPT\n"},
		"iptables with a rule of another":  {iptables: "*filter\n:INPUT DROP [0:0]\n-A INPUT ! -s 10.0.0.0/24 -p tcp -m tcp --dport 6443 -j ACCEPT\n", rule: "policy drop", sure: true},
		"iptables with a set":              {iptables: "*filter\n:INPUT DROP [0:0]\n-A INPUT -m set --match-set nodes src -j ACCEPT\n", rule: "policy drop"},
		"iptables drops odd flags": {iptables: "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK NONE -j DROP\n" +
			"-A INPUT -p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -j DROP\n"},
		"a direct rule of firewalld": {iptables: "*filter\n:INPUT ACCEPT [0:0]\n:INPUT_direct - [0:0]\n-A INPUT -j INPUT_direct\n" +
			"-A INPUT_direct -p tcp -m tcp --dport 6443 -j DROP\n", rule: "INPUT_direct", sure: true},
		"nftables.service": {nft: input(old, "tcp dport @few accept",
			"counter log prefix \"no \" reject with icmpx admin-prohibited"), rule: "admin-prohibited", sure: true},
		"nftables with a map": {nft: input("ct state vmap { established : accept, related : accept, invalid : drop }", `iifname vmap { "lo" : accept, "ens192" : goto web }`,
			"accept")},
		"a map drops":            {nft: input("tcp dport vmap { 22 : accept, 6443 : drop }"), rule: "vmap", sure: true},
		"a limit":                {nft: input("ct state new limit rate over 10/second drop"), rule: "limit rate"},
		"a chain on a condition": {nft: input("meta mark 5 jump web", "drop"), rule: `"drop" in chain in`, sure: true},
		"the port of the chain":  {nft: strings.Replace(input("tcp dport 6443 jump web", "drop"), "{ 80, 443 }", "6443", 1)},
		"other protocols":        {nft: input("ip6 saddr ::1 drop", "udp dport 6443 drop", "icmp type echo-request drop", `oifname "ens192" drop`, "meta l4proto 17 drop")},
		"before routing":         {nft: strings.Replace(input("ip daddr 10.0.0.11 drop"), "hook input", "hook prerouting", 1), rule: "ip daddr", sure: true},
		"at another card":        {nft: strings.Replace(input("drop"), "hook input", `hook ingress device "ens1"`, 1)},
		"at this card":           {nft: strings.Replace(input("drop"), "hook input", `hook ingress devices = { "ens1", "ens192" }`, 1), rule: "drop", sure: true},
		"forwarding":             {nft: strings.Replace(input("drop"), "hook input", "hook forward", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, firewalld := range []string{"", firewalldWith(t, nil)} {
				s := New()
				s.NFT("", firewalld+tc.nft)
				s.Iptables("", "ip", tc.iptables)
				got := s.End(node())
				if tc.rule == "" && firewalld != "" || name == "a limit" && firewalld != "" {
					assert.True(t, got.Opens, "firewalld alone closes it: %+v", got)
					continue
				}
				assert.False(t, got.Opens, "%+v", got)
				assert.Equal(t, tc.sure, got.Sure, "%+v", got)
				assert.Contains(t, got.Rule, tc.rule)
				assert.Equal(t, tc.rule == "", got.Rule == "", "%+v", got)
			}
		})
	}
}

// TestKernel: a host without nft has rules of iptables, and a host without both has none.
func TestKernel(t *testing.T) {
	for has, want := range map[string]string{"nft": "drop", "iptables-save": "-j DROP", "": ""} {
		s, err := Kernel(func(name string, _ ...string) (string, error) {
			if name != has {
				return "", exec.ErrNotFound
			}
			return map[string]string{
				"nft": "table ip a {\nchain b {\ntype filter hook input priority 0;\ndrop\n}\n}\n", "iptables-save": "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j DROP\n",
			}[name], nil
		})
		require.NoError(t, err)
		assert.Contains(t, s.End(node()).Rule, want)
	}
	broken := errors.New("no permission")
	_, err := Kernel(func(string, ...string) (string, error) { return "", broken })
	assert.ErrorIs(t, err, broken)
}
