package netprobe

import (
	"maps"
	"slices"
)

// Holders are the control-plane hosts that have the load balancer's address on a network, and answer
// there: a virtual IP address that moves between hosts. With direct server return, the hosts behind
// the load balancer have the address on no network.
func (m *Matrix) Holders() []string {
	var names []string
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		if v := m.VIPs[i]; v.Own && !v.direct() {
			names = append(names, m.Hosts[i].Name)
		}
	}
	return names
}

// moves reports whether the endpoint is a virtual IP address on one control-plane host at a time,
// instead of a load balancer for all of them.
func (m balancing) moves() bool { return len(m.Holders()) > 0 }

func (v *VIP) direct() bool { return v.Local != nil && v.Local.Direct }

// Direct reports whether a control-plane host has the load balancer's address on no network.
func (m *Matrix) Direct() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(m.VIPs)), (*VIP).direct)
}

// answers reports whether a host answers ARP requests for the load balancer's address.
func (m balancing) answers(i int) bool {
	mac := m.VIPs[i].MAC
	return mac != "" && slices.ContainsFunc(slices.Collect(maps.Values(m.VIPs)), func(v *VIP) bool { return slices.Contains(v.Owners, mac) })
}

// answering returns the findings about hosts that answer ARP requests for an address that is not
// only theirs.
func (m balancing) answering() []Finding {
	by := map[LocalVIP][]int{}
	var holders []int
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		v := m.VIPs[i]
		switch {
		case v.Local == nil || !m.answers(i):
		case v.direct():
			settings := LocalVIP{Interface: v.Local.Interface, ARPIgnore: v.Local.ARPIgnore, ARPAnnounce: v.Local.ARPAnnounce}
			by[settings] = append(by[settings], i)
		default:
			holders = append(holders, i)
		}
	}
	var found []Finding
	for _, settings := range slices.SortedFunc(maps.Keys(by), func(a, b LocalVIP) int { return by[a][0] - by[b][0] }) {
		found = append(found, Finding{
			Severity: Stops, About: AboutVIP, Owner: HostTeam,
			What: m.in.Say("these hosts have the load balancer's address on %s (direct server return) and announce it by ARP (arp_ignore %d, arp_announce %d), so clients bypass the load balancer",
				settings.Interface, settings.ARPIgnore, settings.ARPAnnounce),
			Between: m.names(by[settings]), Fix: m.in.Say(fixARP),
		})
	}
	if len(holders) > 1 {
		found = append(found, Finding{
			Severity: Stops, About: AboutVIP, Owner: HostTeam, What: m.in.Say("several hosts have the load balancer's address at the same time"), Between: m.names(holders),
			Fix: m.in.Say("allow VRRP (IP protocol 112 to 224.0.0.18) between these hosts, and check the priorities in keepalived's configuration"),
		})
	}
	return found
}

const fixARP = "set net.ipv4.conf.all.arp_ignore = 1 and net.ipv4.conf.all.arp_announce = 2 on these hosts, in a file of /etc/sysctl.d; then run sysctl --system"

// announcing returns the finding about hosts that answer no ARP requests for the address, but use it
// in their own ones. With arp_announce 1 they do so if the address is in the network of the interface.
func (m balancing) announcing() []Finding {
	const never = 2
	var hosts []int
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		if v := m.VIPs[i]; v.direct() && v.Local.ARPIgnore > 0 && v.Local.ARPAnnounce < never && len(v.Owners) > 0 && !m.answers(i) {
			hosts = append(hosts, i)
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	return []Finding{{
		Severity: Warns, About: AboutVIP, Owner: HostTeam, What: m.in.Say("these hosts do not answer ARP requests for the load balancer's address, but can announce it in their own ones (arp_announce below 2)"),
		Between: m.names(hosts), Fix: m.in.Say(fixARP),
	}}
}

// incomplete returns the finding about control-plane hosts without the address, if others have it for
// direct server return: the load balancer does not change the address in packets.
func (m balancing) incomplete() []Finding {
	if !m.Direct() {
		return nil
	}
	var without []int
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		if m.Hosts[i].ControlPlane && m.VIPs[i].Local == nil {
			without = append(without, i)
		}
	}
	if len(without) == 0 {
		return nil
	}
	return []Finding{{
		Severity: Stops, About: AboutVIP, Owner: HostTeam, What: m.in.Say("these hosts do not have the load balancer's address, but other control-plane hosts have it for direct server return"),
		Between: m.names(without), Fix: m.in.Say("add the load balancer's address to the interface lo of these hosts, as on the others"),
	}}
}
