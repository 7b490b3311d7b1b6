package nodereport

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink"
)

// Links are the interfaces of the host, sorted by name.
func Links() ([]Link, error) {
	found, err := netlink.LinkList()
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	var links []Link
	for _, l := range found {
		addresses, err := netlink.AddrList(l, netlink.FAMILY_ALL)
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fmt.Errorf("list addresses of %s: %w", l.Attrs().Name, err)
		}
		if !ofPod(l, addresses) && l.Attrs().Flags&net.FlagLoopback == 0 {
			links = append(links, linkOf(l))
		}
	}
	slices.SortFunc(links, func(a, b Link) int { return cmp.Compare(a.Name, b.Name) })
	return links, nil
}

// ofPod tells a pod's end of a pair from the host's own, which a container or a
// virtual machine may have instead of a card: that has an address in a network.
func ofPod(l netlink.Link, addresses []netlink.Addr) bool {
	if l.Type() != "veth" && l.Type() != "netkit" {
		return false
	}
	return !slices.ContainsFunc(addresses, func(a netlink.Addr) bool {
		ones, bits := a.Mask.Size()
		return a.IP.IsGlobalUnicast() && ones < bits
	})
}

// linkOf says of a link whether it carries packets. A bridge without ports has
// nothing to carry, which is no fault of its own.
func linkOf(l netlink.Link) Link {
	a, kind := l.Attrs(), l.Type()
	if kind == "device" { // the library's word for a card
		kind = ""
	}
	carries := a.Flags&net.FlagRunning != 0 || kind == "bridge"
	return Link{Name: a.Name, Kind: kind, MTU: a.MTU, Up: a.Flags&net.FlagUp != 0 && carries}
}
