package nodereport

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink"
)

// Links returns the host's network interfaces without loopback and those of pods, sorted by name.
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

// ofPod reports whether a veth or netkit belongs to a pod. A container or virtual machine that is
// a host may have a veth as its own interface: that one has an address in a network.
func ofPod(l netlink.Link, addresses []netlink.Addr) bool {
	if l.Type() != "veth" && l.Type() != "netkit" {
		return false
	}
	return !slices.ContainsFunc(addresses, func(a netlink.Addr) bool {
		ones, bits := a.Mask.Size()
		return a.IP.IsGlobalUnicast() && ones < bits
	})
}

// linkOf converts a link. A bridge without ports counts as up: it has no packets to carry.
func linkOf(l netlink.Link) Link {
	a, kind := l.Attrs(), l.Type()
	if kind == "device" { // netlink's kind of a network card
		kind = ""
	}
	carries := a.Flags&net.FlagRunning != 0 || kind == "bridge"
	return Link{Name: a.Name, Kind: kind, MTU: a.MTU, Up: a.Flags&net.FlagUp != 0 && carries}
}
