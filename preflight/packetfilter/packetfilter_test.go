package packetfilter

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// TestBlocks: the last rule of a chain counts, in each format, with the rules before it.
func TestBlocks(t *testing.T) {
	nft := func(text string) Rules { s := New(); s.NFT("/f", text); return s.Rules() }
	ipt := func(text string) Rules { s := New(); s.Iptables("/f", "ip", text); return s.Rules() }
	for _, tc := range []struct {
		name    string
		rules   Rules
		at      string // "" for no block
		accepts int
		policy  bool
	}{
		{"iptables-services as installed", ipt("*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n-A INPUT -m state --state RELATED,ESTABLISHED -j ACCEPT\n" +
			"-A INPUT -p tcp -m state --state NEW -m tcp --dport 22 -j ACCEPT\n-A INPUT -j REJECT --reject-with icmp-host-prohibited\nCOMMIT\n"), "/f:6", 2, false},
		{"with counters, and inserted", ipt("*filter\n:FORWARD ACCEPT [5:60]\n[1:60] -I FORWARD -j REJECT\n"), "/f:3", 0, false},
		{"a policy", ipt("*filter\n:FORWARD DROP [0:0]\n-A FORWARD -i eth0 -j ACCEPT\n"), "/f:2", 1, true},
		{"all new connections", ipt("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp -m conntrack --ctstate NEW -m comment --comment \"the end\" -j DROP\n"), "/f:3", 0, false},
		{"a part of the packets", ipt("*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -o virbr0 -j REJECT\n"), "", 0, false},
		{"accepted first", ipt("*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j ACCEPT\n-A FORWARD -j REJECT\n"), "", 0, false},
		{"in a chain of its own", ipt("*filter\n:INPUT ACCEPT [0:0]\n:RH-Firewall-1-INPUT - [0:0]\n-A INPUT -j RH-Firewall-1-INPUT\n" +
			"-A RH-Firewall-1-INPUT -p icmp -j ACCEPT\n-A RH-Firewall-1-INPUT -j REJECT\n"), "/f:6", 1, false},
		{"an endless jump", ipt("*filter\n:INPUT ACCEPT [0:0]\n:A - [0:0]\n-A INPUT -j A\n-A A -j A\n"), "", 0, false},
		{"firewalld with iptables", ipt("*filter\n:FORWARD ACCEPT [0:0]\n:FORWARD_direct - [0:0]\n-A FORWARD -j FORWARD_direct\n-A FORWARD -j REJECT\n"), "", 0, false},
		{"another table", ipt("*nat\n:INPUT ACCEPT [0:0]\n-A INPUT -j DROP\n"), "", 0, false},
		{"nft, in several lines", nft("table inet site {\n\tset ours {\n\t\ttype ipv4_addr\n\t\telements = { 10.0.0.1,\n\t\t\t10.0.0.2 }\n\t}\n" + "\tchain in {\n" +
			"\t\ttype filter hook input priority filter; policy accept;\n\t\tip saddr { 10.0.0.1, 10.0.0.2 } accept\n" +
			"\t\tcounter packets 5 bytes 7 log prefix \"no; \" reject with icmpx admin-prohibited\n\t}\n}\n"),
			"/f:10", 1, false},
		{"nft, in one line", nft("table ip f { chain fw { type filter hook forward priority 0; ct state new drop; }; }"), "/f:1", 0, false},
		{"nft, as commands", nft("flush ruleset\nadd chain inet f c { type filter hook input priority 0 ; policy drop ; }\nadd rule inet f c tcp dport { 22, 443 } accept\n"), "/f:2", 1, true},
		{"iptables in nft", nft("table ip filter {\n chain FORWARD {\n  type filter hook forward priority filter; policy accept;\n" +
			"  counter packets 0 bytes 0 xt target \"REJECT\"\n }\n}\n"), "/f:4", 0, false},
		{"iptables in an older nft", nft("table ip filter {\n chain FORWARD {\n  type filter hook forward priority 0;\n  counter # xt_REJECT\n }\n}\n"), "/f:4", 0, false},
		{"firewalld's table", nft("table inet firewalld {\n chain x {\n type filter hook forward priority 10;\n reject\n }\n}"), "", 0, false},
		{"a comment", nft("table ip f {\n chain x {\n type filter hook forward priority 10;\n # reject\n accept\n }\n}"), "", 0, false},
		{"a jump on a condition", nft("table ip f {\n chain x {\n type filter hook input priority 10;\n iifname \"eth0\" jump y\n drop\n }\n chain y {\n tcp dport 6443 accept\n }\n}"), "/f:5", 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.at == "" {
				assert.Empty(t, tc.rules.Blocks)
			} else if assert.Len(t, tc.rules.Blocks, 1) {
				b := tc.rules.Blocks[0]
				assert.Equal(t, tc.at, b.At)
				assert.Len(t, b.Accepts, tc.accepts)
				assert.Equal(t, tc.policy, b.Policy)
			}
		})
	}
}

// TestOwners: chains of an earlier cluster, includes and flushes are found with their places.
func TestOwners(t *testing.T) {
	s := New()
	s.Iptables("/etc/sysconfig/iptables", "ip", "*nat\n:KUBE-SERVICES - [0:0]\n:cali-PREROUTING - [0:0]\n:GC-IN - [0:0]\n-X what\n")
	assert.Equal(t, []string{"etc/nftables/*.nft"}, s.NFT("/n", "#!/usr/sbin/nft -f\nflush ruleset\ninclude \"/etc/nftables/*.nft\"\n"))
	r := s.Rules()
	assert.Equal(t, []string{"KUBE-SERVICES /etc/sysconfig/iptables:2", "cali-PREROUTING /etc/sysconfig/iptables:3"}, r.Cluster)
	assert.Equal(t, []string{"ip nat GC-IN"}, r.Chains)
	assert.Equal(t, []string{"/n:2"}, r.Flushes)
	assert.Equal(t, []string{"/etc/sysconfig/iptables:5 -X what"}, r.Unread)
}

// TestIncludesElsewhere: files outside of /etc/nftables are not read, and not taken for empty.
func TestIncludesElsewhere(t *testing.T) {
	files := map[string]string{
		"etc/sysconfig/nftables.conf": "include \"/etc/nftables/*.nft\"\ninclude \"/etc/nftables/none*.nft\"\ninclude \"/opt/site/*.nft\"\n",
		"etc/nftables/main.nft":       "include \"/etc/nftables/site/filter.nft\"\n",
	}
	saved, err := ReadSaved(func(file string) (string, error) { return files[file], nil }, func(string) ([]string, error) { return []string{"main.nft"}, nil })
	assert.NoError(t, err)
	if assert.Len(t, saved, 1) {
		assert.Equal(t, []string{`include "/opt/site/*.nft"`, `include "/etc/nftables/site/filter.nft"`}, saved[0].Rules.Unread)
	}
}

// TestManyJumps: rules that jump to each other in very many ways end in an answer.
func TestManyJumps(t *testing.T) {
	var text strings.Builder
	text.WriteString("*filter\n:INPUT ACCEPT [0:0]\n")
	for i := range 12 {
		text.WriteString(strings.Repeat(fmt.Sprintf("-A %s -j C%d\n", map[bool]string{true: "INPUT", false: fmt.Sprintf("C%d", i)}[i == 0], i+1), 20))
	}
	s := New()
	s.Iptables("/f", "ip", text.String())
	assert.Contains(t, s.Rules().Unread, "too many jumps between chains")
}

// FuzzRules: no text takes too long, and the result can be written.
func FuzzRules(f *testing.F) {
	f.Add("table ip f { chain fw { type filter hook forward priority 0; ct state new drop; }; }")
	f.Add("*filter\n:INPUT DROP [0:0]\n-A INPUT -g A\n-A A -j INPUT\n")
	f.Add("table ip f {\nset s {\nelements = { 10.0.0.0/8, 1.2.3.4-1.2.3.9 }\n}\nchain c {\ntype filter hook input priority 0;\nip saddr != @s tcp dport vmap { 22 : accept, 6443 : drop }\n}\n}")
	f.Fuzz(func(t *testing.T, text string) {
		s := New()
		s.NFT("/f", text)
		s.Iptables("/f", "ip", text)
		for _, b := range s.Rules().Blocks {
			if !utf8.ValidString(b.Rule) || b.Hook == "" {
				t.Errorf("%q gives %+v", text, b)
			}
		}
		if end := s.End(node()); !utf8.ValidString(end.Rule) || end.Opens && end.Rule == "" {
			t.Errorf("%q ends with %+v", text, end)
		}
	})
}
