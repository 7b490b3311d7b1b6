package netprobe

import (
	"net/netip"
	"slices"
	"testing"
)

// TestPeers: no host tests itself, all hosts test the same number of hosts, and pairs are symmetric.
func TestPeers(t *testing.T) {
	for _, hosts := range []int{2, 3, 7, 50, 51, 100, 101, 5000} {
		plan := Plan{Hosts: make([]Host, hosts), Pairs: DefaultPairs}
		each := len(plan.Peers(0))
		tried := make([]int, hosts)
		known := map[int][]int{}
		peersOf := func(i int) []int {
			if known[i] == nil {
				known[i] = plan.Peers(i)
			}
			return known[i]
		}
		for i := range hosts {
			peers := peersOf(i)
			if len(peers) != each || slices.Contains(peers, i) || len(slices.Compact(slices.Sorted(slices.Values(peers)))) != each {
				t.Fatalf("%d hosts: %d tries %v", hosts, i, peers)
			}
			for _, to := range peers {
				tried[to]++
				if !slices.Contains(peersOf(to), i) {
					t.Fatalf("%d hosts: %d tests %d, but not the other way", hosts, i, to)
				}
			}
			if hosts > 200 {
				break
			}
		}
		if all := hosts * (hosts - 1); all <= DefaultPairs && each != hosts-1 || all > DefaultPairs && (each < minPeers || each > DefaultPairs/hosts+minPeers) {
			t.Errorf("%d hosts: each tests %d", hosts, each)
		}
		if hosts <= 200 && slices.Max(tried) != slices.Min(tried) {
			t.Errorf("%d hosts are tested %d to %d times", hosts, slices.Min(tried), slices.Max(tried))
		}
	}
}

func TestPlanRefused(t *testing.T) {
	host := func(name, address string) Host { return Host{Name: name, Address: netip.MustParseAddr(address)} }
	two := []Host{host("a", "10.0.0.1"), host("b", "10.0.0.2")}
	good := Plan{Token: NewToken(), Hosts: two, Limit: 60}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Plan){
		"one host":       func(p *Plan) { p.Hosts = two[:1] },
		"no such host":   func(p *Plan) { p.Self = 2 },
		"no token":       func(p *Plan) { p.Token = Token{} },
		"limit too long": func(p *Plan) { p.Limit = 100000 },
		"IPv6":           func(p *Plan) { p.Hosts = []Host{two[0], host("c", "fd00::1")} },
		"twice":          func(p *Plan) { p.Hosts = []Host{two[0], two[0]} },
	} {
		p := good
		if change(&p); p.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestJudgeRefuses(t *testing.T) {
	hosts := []Host{{Name: "a"}, {Name: "b"}}
	report := func(self int, measured string, schema int) *Report {
		return &Report{Schema: schema, Self: self, Hosts: hosts, Measured: measured}
	}
	for name, reports := range map[string][]*Report{
		"none":            nil,
		"twice the same":  {report(0, "x", Schema), report(0, "x", Schema)},
		"two runs":        {report(0, "x", Schema), report(1, "y", Schema)},
		"an older schema": {report(0, "x", Schema-1)},
		"a newer schema":  {report(0, "x", Schema+1)},
		"no such host":    {report(7, "x", Schema)},
	} {
		if _, err := Judge(reports); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	m, err := Judge([]*Report{report(1, "x", Schema)})
	if err != nil || !slices.Equal(m.Missing, []int{0}) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := m.Choose(Options{Ports: Ports(8472)}); err == nil {
		t.Error("a choice without the report of a host")
	}
}

func TestTokenText(t *testing.T) {
	token := NewToken()
	text, err := token.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back Token
	if err := back.UnmarshalText(text); err != nil || back != token {
		t.Errorf("%v", err)
	}
	for _, wrong := range []string{"", "xx", string(text) + "00", string(text[:63]) + "x"} {
		if err := back.UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q is a token", wrong)
		}
	}
	if token.String() != "(token)" {
		t.Error("String shows the token")
	}
}
