package agent

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mdlayher/packet"
	"github.com/vishvananda/netlink"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

const (
	// maxOwners is the largest number of recorded MAC addresses and addresses.
	maxOwners = 8
	arpEvery  = 300 * time.Millisecond
)

// inspectVIP resolves the endpoint, and finds its address on this host.
func (a *agent) inspectVIP(ctx context.Context) {
	own, _, err := ownInterface(a.plan.Own())
	if err != nil {
		return
	}
	a.vip.MAC = own.HardwareAddr.String()
	a.resolveVIP(ctx)
	for _, address := range a.endpoint {
		if ifi, _, err := ownInterface(netprobe.Host{Address: address}); err == nil && a.vip.Local == nil {
			a.vip.Local = &netprobe.LocalVIP{
				Address: address, Interface: ifi.Name, Direct: hasNoARP(ifi),
				ARPIgnore: ofInterface(own.Name, "arp_ignore"), ARPAnnounce: ofInterface(own.Name, "arp_announce"),
			}
		}
	}
}

// resolveVIP finds the addresses of the endpoint. The connections report an unknown name.
func (a *agent) resolveVIP(ctx context.Context) {
	host, _, err := net.SplitHostPort(a.plan.VIP)
	if err != nil {
		return
	}
	asked, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	all, _ := net.DefaultResolver.LookupNetIP(asked, "ip", host)
	for _, address := range all {
		switch {
		case address.Unmap().Is4() && len(a.endpoint) < maxOwners:
			a.endpoint = append(a.endpoint, address.Unmap())
		case !address.Unmap().Is4() && len(a.vip.IPv6) < maxOwners:
			a.vip.IPv6 = append(a.vip.IPv6, address)
		}
	}
}

// hasNoARP reports whether an interface is a loopback, dummy or tunnel interface.
func hasNoARP(ifi *net.Interface) bool {
	link, err := netlink.LinkByIndex(ifi.Index)
	return ifi.Flags&net.FlagLoopback != 0 || err == nil && link.Attrs().RawFlags&unix.IFF_NOARP != 0
}

// ofInterface is the setting of an interface: the kernel uses the larger value of the interface and of "all".
func ofInterface(name, setting string) (value int) {
	for _, of := range []string{"all", name} {
		text, _ := os.ReadFile(filepath.Join("/proc/sys/net/ipv4/conf", of, setting))
		n, _ := strconv.Atoi(strings.TrimSpace(string(text))) // 0 is the kernel's default
		value = max(value, n)
	}
	return value
}

// askOwners sends ARP requests for the load balancer's address until ctx ends. It records the senders
// of answers, and of other requests with this address. It asks only in the network of this host's interface.
func (t *vipTest) askOwners(ctx context.Context) {
	own, network, err := ownInterface(t.plan.Own())
	if err != nil {
		return
	}
	i := slices.IndexFunc(t.endpoint, network.Contains)
	if i < 0 {
		return
	}
	vip := t.endpoint[i]
	filter, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: arpAddress, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: binary.BigEndian.Uint32(vip.AsSlice()), SkipTrue: 1},
		bpf.RetConstant{Val: arpSize}, bpf.RetConstant{},
	})
	if err != nil {
		return
	}
	conn, err := packet.Listen(own, packet.Datagram, unix.ETH_P_ARP, &packet.Config{Filter: filter})
	if err != nil {
		return
	}
	defer conn.Close()
	request := arpRequest(own.HardwareAddr, t.plan.Own().Address, vip)
	buf := make([]byte, arpSize)
	for sent := 0; sent < tries || ctx.Err() == nil; {
		if sent < tries {
			sent++
			_, _ = conn.WriteTo(request, &packet.Addr{HardwareAddr: bytes.Repeat([]byte{0xff}, 6)})
		}
		_ = conn.SetReadDeadline(time.Now().Add(arpEvery))
		for {
			n, _, err := conn.ReadFrom(buf)
			if err != nil {
				break
			}
			t.owner(buf[:n])
		}
	}
}

// owner records the sender of an ARP packet with the load balancer's address.
func (t *vipTest) owner(b []byte) {
	from, _, ok := arpSender(b)
	if mac := from.String(); ok && len(t.vip.Owners) < maxOwners && !slices.Contains(t.vip.Owners, mac) {
		t.vip.Owners = append(t.vip.Owners, mac)
	}
}
