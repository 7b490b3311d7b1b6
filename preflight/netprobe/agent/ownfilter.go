package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/netprobe"
	"airgap.dev/airgap/preflight/packetfilter"
)

const filterTimeout = 10 * time.Second

// explainClosed finds the rules of this host that stop packets of the measurement. It reads the packet
// filter only if packets arrived at the interface and not at a socket.
func (a *agent) explainClosed(ctx context.Context) {
	closed := a.report.unreceived()
	if len(closed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, filterTimeout)
	defer cancel()
	ifi, _, err := ownInterface(a.plan.Own())
	if err != nil {
		return
	}
	m := host.Machine{Host: host.Local{}}
	rules, err := packetfilter.Kernel(func(name string, args ...string) (string, error) {
		out, err := m.Host.Run(ctx, host.Cmd{Name: name, Args: args})
		return string(out), err
	})
	firewalld, errUnit := m.UnitIs(ctx, "is-active", "firewalld")
	err = errors.Join(err, errUnit)
	for i := range closed {
		c := &closed[i]
		if err != nil {
			c.Rule = fmt.Sprintf("unknown: read the packet filter: %v", err)
			continue
		}
		protocol := "udp"
		if c.Kind == netprobe.TCP {
			protocol = "tcp"
		}
		end := rules.End(packetfilter.Packet{From: a.plan.Hosts[c.From].Address, To: a.plan.Own().Address, Protocol: protocol, Port: c.Port, Link: ifi.Name})
		c.Rule, c.Opens = end.Rule, end.Opens && firewalld
	}
	a.report.mu.Lock()
	defer a.report.mu.Unlock()
	a.report.Closed = closed
}

// unreceived returns the packets that arrived at the interface and not at a socket. A port that another
// program uses is not among them, because that program received its packets.
func (r *record) unreceived() []netprobe.Closed {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []netprobe.Closed
	for _, seen := range r.Observations {
		kind, known := map[netprobe.Kind]netprobe.Kind{netprobe.TCP: netprobe.TCP, netprobe.UDP: netprobe.UDP, netprobe.VXLANPing: netprobe.VXLANUDP}[seen.Kind]
		if !known || seen.Layer != netprobe.AtInterface {
			continue
		}
		received := slices.ContainsFunc(r.Observations, func(s netprobe.Observation) bool {
			return s.From == seen.From && s.Kind == kind && s.Port == seen.Port && s.Layer == netprobe.AtSocket
		})
		other := slices.ContainsFunc(r.ListenErrors, func(e netprobe.ListenError) bool { return e.Kind == seen.Kind && e.Port == seen.Port })
		c := netprobe.Closed{From: seen.From, Kind: seen.Kind, Port: seen.Port}
		if !received && !other && !slices.Contains(found, c) {
			found = append(found, c)
		}
	}
	return found
}
