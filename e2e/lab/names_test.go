package lab

import (
	"net/netip"
	"strings"
	"testing"
)

func TestUpRefuses(t *testing.T) {
	one := KindContainer.Times(1)
	for _, cfg := range []Config{
		{Run: "", Nodes: one}, {Run: "UPPER", Nodes: one}, {Run: "../x", Nodes: one},
		{Run: strings.Repeat("x", 21), Nodes: one}, {Run: "ok"}, {Run: "ok", Nodes: KindContainer.Times(201)},
		{Run: "ok", Nodes: []Kind{"mainframe"}}, {Run: "ok", Nodes: []Kind{KindEmulated}},
	} {
		cfg.Cache, cfg.Layers = t.TempDir(), []string{"/"}
		if _, err := Up(t.Context(), cfg); err == nil {
			t.Errorf("booted %+v", cfg)
		}
	}
}

func TestOpenMissingLab(t *testing.T) {
	if _, err := Open(t.TempDir(), "none"); err == nil || !strings.Contains(err.Error(), "not up") {
		t.Errorf("got %v; want an error with \"not up\"", err)
	}
}

func TestDropString(t *testing.T) {
	a, b := netip.MustParseAddr("10.88.0.11"), netip.MustParseAddr("10.88.0.12")
	for want, d := range map[string]Drop{
		"ip protocol 4":  {Proto: "4"},
		"udp dport 8472": {Proto: "udp", Port: 8472},
		"ip saddr 10.88.0.11 ip daddr 10.88.0.12 tcp dport 6443": {Proto: "tcp", Port: 6443, From: a, To: b},
	} {
		if got := d.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestHostsFile(t *testing.T) {
	const want = `127.0.0.1 localhost localhost.localdomain
::1 localhost localhost.localdomain
10.88.0.11 node1.bank.example node1
10.88.0.12 node2.bank.example node2
`
	if got := hostsFile(2); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
