package dataplane

import (
	"context"
	"net/netip"
	"testing"
)

// TestUnmeasuredPath: a failure of a path ends when its pod cannot be measured twice in a row, or
// is replaced.
func TestUnmeasuredPath(t *testing.T) {
	_, open := startPathServer(t)
	closed := netip.MustParseAddrPort("127.0.0.2:1")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx    context.Context
		at     netip.AddrPort
		was    netip.AddrPort
		rounds int
		stays  bool
	}{
		"one round without a result":  {t.Context(), closed, closed, maxUnmeasured - 1, true},
		"two rounds without a result": {t.Context(), closed, closed, maxUnmeasured, false},
		"the program ends":            {ended, closed, closed, maxUnmeasured, true},
		"another pod":                 {t.Context(), closed, open, 1, false},
		"fixed":                       {t.Context(), open, open, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newPaths(func(string) {})
			m.port = test.at.Port()
			bad := []Failure{{flowsTo + "w2", "lost"}}
			m.states["w2"] = &pathState{address: test.was, last: bad, failures: bad}
			for range test.rounds {
				m.measure(test.ctx, peer{"w2", netip.AddrPortFrom(test.at.Addr(), Port)})
			}
			if got := m.failures(); len(got) > 0 != test.stays {
				t.Errorf("got %+v", got)
			}
		})
	}
	m := newPaths(func(string) {})
	m.port = open.Port()
	bad := []Failure{{flowsTo + "w2", "lost"}}
	m.states["w2"] = &pathState{address: open, last: bad, unmeasured: maxUnmeasured - 1}
	m.measure(t.Context(), peer{"w2", open})
	if s := m.states["w2"]; s == nil || s.unmeasured != 0 {
		t.Errorf("after a result: %+v", s)
	}
}
