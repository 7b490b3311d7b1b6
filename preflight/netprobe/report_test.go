package netprobe

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reportOf is the report of host 0 of some hosts, which all test each other on all ports of a cluster, with
// every kind of packet and size.
func reportOf(hosts int) *Report {
	r := &Report{Schema: Schema}
	for i := range hosts {
		r.Hosts = append(r.Hosts, Host{Name: fmt.Sprintf("h%d", i), Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})})
	}
	for peer := 1; peer < hosts; peer++ {
		add := func(kind Kind, port, size int) {
			r.Attempts = append(r.Attempts, Attempt{To: peer, Kind: kind, Port: port, Size: size, Result: Answered})
			for _, layer := range []Layer{AtInterface, AtSocket} {
				r.Observations = append(r.Observations, Observation{From: peer, Kind: kind, Port: port, Size: size, Layer: layer, Count: 3})
			}
		}
		for port := range 12 {
			add(TCP, 6443+port, 0)
			add(TLS, 6443+port, 0)
		}
		for _, port := range []int{8472, 4789, 6081} {
			for _, kind := range []Kind{UDP, VXLANPing, VXLANUDP, VXLANTCP} {
				add(kind, port, 0)
			}
			for size := range 12 {
				add(Size, port, 1280+size)
			}
		}
		add(IPIP, 0, 0)
		add(Routed, 0, 0)
	}
	return r
}

// TestBounded: a normal report of a large cluster passes. A report that would stop the evaluation is refused at
// once.
func TestBounded(t *testing.T) {
	normal := reportOf(100)
	_, err := Judge([]*Report{normal})
	require.NoError(t, err)
	for name, change := range map[string]func(*Report){
		"attempts":      func(r *Report) { r.Attempts = slices.Repeat(r.Attempts[:1], 1<<20) },
		"observations":  func(r *Report) { r.Observations = slices.Repeat(r.Observations[:1], 1<<20) },
		"closed":        func(r *Report) { r.Closed = make([]Closed, 1<<20) },
		"listen errors": func(r *Report) { r.ListenErrors = make([]ListenError, 1<<20) },
		"sources":       func(r *Report) { r.Sources = make([]Source, 1<<20) },
	} {
		hostile := *normal
		change(&hostile)
		began := time.Now()
		_, err := Judge([]*Report{&hostile})
		assert.ErrorContains(t, err, "the report of host 0 has more entries than an agent makes", name)
		assert.Less(t, time.Since(began), time.Second, name)
	}
}
