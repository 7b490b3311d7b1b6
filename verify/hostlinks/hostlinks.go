// Package hostlinks judges the interfaces, bonds and connection tracking in a NodeReport. It finds links that lose
// packets now, and bonds with only one link left.
//
// A counter counts only if it grew by a number and by a share of all packets in each of the last two
// intervals. The limits are above the values of a healthy network, so a single event is no finding.
package hostlinks

import (
	"fmt"
	"slices"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// Limits for a report with more entries than a host can have.
const (
	maxJudged   = 64
	maxFindings = 256
)

// Judge returns the findings about a host whose report has the part.
func Judge(host string, r nodereport.Report) []result.Finding {
	l := *r.HostLinks
	l.Interfaces = plain(l.Interfaces, func(i nodereport.Interface) string { return i.Name })
	var all []result.Finding
	for _, i := range l.Interfaces {
		all = append(all, interfaceFindings(host, i)...)
	}
	for _, b := range plain(l.Bonds, func(b nodereport.Bond) string { return b.Name }) {
		all = append(all, bondFindings(host, b, l.Interfaces)...)
	}
	if l.Conntrack != nil {
		all = append(all, conntrackFindings(host, *l.Conntrack)...)
	}
	all = all[:min(len(all), maxFindings)]
	for i := range all {
		all[i].Object = "Node " + host + ", " + all[i].Object
	}
	return all
}

// plain returns the first entries, without those whose name cannot be in a command.
func plain[T any](entries []T, name func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(entries[:min(len(entries), maxJudged)]), func(e T) bool { return !nodereport.IsPlainLinkName(name(e)) })
}

// bondFindings finds members that carry no packets, and slow ones.
func bondFindings(host string, b nodereport.Bond, interfaces []nodereport.Interface) []result.Finding {
	members := plain(b.Members, func(m nodereport.BondMember) string { return m.Name })
	missing := plain(b.Missing, func(name string) string { return name })
	working := 0
	for _, m := range members {
		if m.Up && !m.NoLACP {
			working++
		}
	}
	left := fmt.Sprintf("%d of %d members work", working, len(members)+len(missing))
	if working == 1 {
		left += ", so the next failure stops the network of the node"
	}
	var all []result.Finding
	add := func(saw, want, fix string) {
		all = append(all, result.Finding{Object: b.Name, Saw: saw, Want: want, Fix: fix})
	}
	const wantUp = "all members up"
	show := fmt.Sprintf("on %s: cat /proc/net/bonding/%s; ip -statistics link show master %s; ", host, b.Name, b.Name)
	for _, m := range members {
		switch {
		case !m.Up:
			add("member "+m.Name+" is down: "+left, wantUp, show+"ask the network team to check its cable, transceiver and switch port")
		case m.NoLACP:
			add("the switch has not put member "+m.Name+" into the port channel (LACP): "+left, wantUp,
				show+"ask the network team to add its switch port to the port channel of the other members, with LACP")
		}
	}
	for _, name := range missing {
		add(name+" is configured as a member, but is not one: "+left, "all configured members",
			show+"ip link show "+name+"; nmcli device connect "+name+"; if the interface does not exist, check the network card; if it was removed on purpose, delete its connection")
	}
	return append(all, slowMembers(host, b, members, interfaces)...)
}

// slowMembers compares the members that a bond uses. With active-backup, a slower backup may be intended, but it must
// not carry the packets while a faster member is up.
func slowMembers(host string, b nodereport.Bond, members []nodereport.BondMember, interfaces []nodereport.Interface) []result.Finding {
	speed := func(name string) int {
		if i := slices.IndexFunc(interfaces, func(i nodereport.Interface) bool { return i.Name == name }); i >= 0 {
			return interfaces[i].Speed
		}
		return 0
	}
	fastest := ""
	for _, m := range members {
		if m.Up && speed(m.Name) > speed(fastest) {
			fastest = m.Name
		}
	}
	var all []result.Finding
	for _, m := range members {
		is, most := speed(m.Name), speed(fastest)
		if !m.Up || is <= 0 || is >= most || b.Mode == "active-backup" && m.Name != b.Active {
			continue
		}
		all = append(all, result.Finding{
			Object: b.Name, Saw: fmt.Sprintf("member %s has %d Mbit/s, %s has %d Mbit/s", m.Name, is, fastest, most), Want: "the same speed on all members in use",
			Fix: fmt.Sprintf("on %s: ethtool %s; ask the network team to check its cable, transceiver and the speed of its switch port", host, m.Name),
		})
	}
	return all
}
