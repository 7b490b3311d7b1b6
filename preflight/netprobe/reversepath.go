package netprobe

import (
	"fmt"
	"net/netip"
	"slices"
)

// ReversePath is what a host's reverse path filter (sysctl rp_filter) dropped during the measurement.
type ReversePath struct {
	// Link is the interface with the host's address. All and Own are the values of
	// net.ipv4.conf.all.rp_filter and net.ipv4.conf.LINK.rp_filter, of which the larger one applies.
	Link string `json:"link"`
	All  int    `json:"all"`
	Own  int    `json:"own"`
	// Dropped is the growth of the kernel's counter IPReversePathFilter.
	Dropped int `json:"dropped"`
	// Ways are the hosts of which the filter drops the packets.
	Ways []WayBack `json:"ways"`
}

// WayBack is the route to another host that does not use Link.
type WayBack struct {
	To   int    `json:"to"`
	Link string `json:"link,omitempty"` // "" without a route
}

// rule describes the filter for packets of another host; "" if it lets them pass.
func (r *ReversePath) rule(from int, address netip.Addr) string {
	if r == nil || r.Dropped <= 0 || max(r.All, r.Own) <= 0 {
		return ""
	}
	i := slices.IndexFunc(r.Ways, func(w WayBack) bool { return w.To == from })
	if i < 0 {
		return ""
	}
	link, value := r.Link, r.Own
	if r.All > r.Own {
		link, value = "all", r.All
	}
	way := "there is no route back to " + address.String()
	if through := r.Ways[i].Link; through != "" {
		way = fmt.Sprintf("packets arrive at %s, and the route back to %s goes through %s", r.Link, address, through)
	}
	return plain(fmt.Sprintf("sysctl net.ipv4.conf.%s.rp_filter = %d; %s", link, value, way))
}

// reversed adds the reverse path filter to the results of packets and answers that a host itself drops. The
// kernel asks it before the rules of the packet filter, and the installation changes neither.
func (p pair) reversed(all []Verdict) []Verdict {
	for i := range all {
		v, rule := &all[i], ""
		switch {
		case v.State == HostCloses && p.at != nil:
			rule = p.at.ReversePath.rule(p.from.Self, p.from.Hosts[p.from.Self].Address)
		case v.State == AnswersBlocked:
			rule = p.from.ReversePath.rule(v.To, p.from.Hosts[v.To].Address)
		}
		if rule != "" {
			v.Rule, v.Opens, v.Reverse = rule, false, true
		}
	}
	return all
}

// closedByReversePath completes the finding about packets that the receiving host drops because of its routes.
func (g group) closedByReversePath(f Finding, needed bool) Finding {
	f.What += " (reverse path filter): " + g.stops
	if needed {
		f.Fix = reversePathFix("receiving")
	}
	return f
}

func reversePathFix(hosts string) string {
	return "on the " + hosts + " hosts, correct the route back (ip route get ADDRESS), so that it uses the interface at which the packets arrive; " +
		"or set net.ipv4.conf.all.rp_filter = 0 and net.ipv4.conf.LINK.rp_filter = 2 (loose) for this interface in a file of /etc/sysctl.d, and run sysctl --system"
}
