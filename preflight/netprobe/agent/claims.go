package agent

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

const (
	// claimProbes is more than the three of RFC 5227, because a single answer can be an old one.
	claimProbes = 5
	claimEvery  = 400 * time.Millisecond
)

// claim is the kind of failures to listen; no message has it.
const claim netprobe.Kind = "arp"

// tryClaims sends ARP probes for this host's address, and for the load balancer's one if it is in the
// same network, and counts the messages of other devices with one of them.
func (a *agent) tryClaims(ctx context.Context) {
	ifi, network, err := ownInterface(a.plan.Own())
	if err != nil || len(ifi.HardwareAddr) != 6 {
		return
	}
	conn, err := packet.Listen(ifi, packet.Datagram, unix.ETH_P_ARP, nil)
	if err != nil {
		a.report.listenFailed(netprobe.ListenError{Kind: claim, Layer: netprobe.AtSocket, Why: reason(err)})
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	addresses := []netip.Addr{a.plan.Own().Address}
	if vip, known := a.plan.foreignIn(network, a.endpoint); known && !a.vip.Own && a.vip.Local == nil {
		addresses = append(addresses, vip)
	}
	ours := hardware()
	broadcast := &packet.Addr{HardwareAddr: net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}
	for range claimProbes {
		for _, address := range addresses {
			_, _ = conn.WriteTo(arpProbe(ifi.HardwareAddr, address), broadcast) // the next probe tries again
		}
		if conn.SetReadDeadline(time.Now().Add(claimEvery)) != nil {
			return
		}
		a.readClaims(conn, ifi.HardwareAddr, ours, addresses)
	}
}

// readClaims reads until the deadline of the socket.
func (a *agent) readClaims(conn *packet.Conn, own net.HardwareAddr, ours []net.HardwareAddr, addresses []netip.Addr) {
	buf := make([]byte, 128)
	for {
		n, _, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		mac, address, ok := arpSender(buf[:n])
		if ok && slices.Contains(addresses, address) && !slices.ContainsFunc(ours, func(m net.HardwareAddr) bool { return bytes.Equal(m, mac) }) {
			a.report.claimed(netprobe.Claim{Address: address, Own: own.String(), MAC: mac.String()})
		}
	}
}

// foreignIn returns an address of the load balancer in a network that is not the address of a host.
func (p hostPlan) foreignIn(network netip.Prefix, endpoint []netip.Addr) (netip.Addr, bool) {
	i := slices.IndexFunc(endpoint, func(a netip.Addr) bool {
		_, isHost := p.ByAddress(a)
		return network.Contains(a) && !isHost
	})
	if i < 0 {
		return netip.Addr{}, false
	}
	return endpoint[i], true
}

// hardware are the MAC addresses of all interfaces of this host. The kernel answers on each of them
// for all addresses of the host.
func hardware() []net.HardwareAddr {
	var found []net.HardwareAddr
	all, _ := net.Interfaces() // the caller has just listed them
	for _, ifi := range all {
		if len(ifi.HardwareAddr) > 0 {
			found = append(found, ifi.HardwareAddr)
		}
	}
	return found
}

// claimed counts a message of another device.
func (r *record) claimed(c netprobe.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.Claims, func(d netprobe.Claim) bool { return d.Address == c.Address && d.MAC == c.MAC })
	if i >= 0 {
		r.Claims[i].Count++
		return
	}
	if len(r.Claims) < netprobe.MaxClaims {
		c.Count = 1
		r.Claims = append(r.Claims, c)
	}
}
