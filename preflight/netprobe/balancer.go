package netprobe

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

const (
	fixBalancer = "use a TCP (layer 4) load balancer that passes TLS through, with every control-plane host in its pool and a TCP health check of port 6443"
	// checksOfOne is the number of connections from one address that are health checks.
	checksOfOne = 2
)

// APIServer is the port behind the load balancer.
const APIServer = 6443

// vips returns nil if a control-plane host could not listen on the port: an API server runs.
func vips(by []*Report) map[int]*VIP {
	found := map[int]*VIP{}
	for i, r := range by {
		if r == nil {
			continue
		}
		if slices.ContainsFunc(r.ListenErrors, func(e ListenError) bool { return e.Kind == TCP && e.Port == APIServer }) {
			return nil
		}
		if r.VIP != nil {
			found[i] = r.VIP
		}
	}
	return found
}

// behinds are the views of the control-plane hosts.
func behinds(by []*Report) map[int]*Behind {
	found := map[int]*Behind{}
	for i, r := range by {
		if r != nil && r.Behind != nil {
			found[i] = r.Behind
		}
	}
	return found
}

// balancing is the part of the result about the load balancer.
type balancing struct {
	*Matrix

	bypassed []Finding
}

// balancer returns the findings about the load balancer of the control plane. If clients bypass it,
// they select the hosts, and their connections break when they learn another hardware address.
func (m *Matrix) balancer() []Finding {
	b := balancing{Matrix: m}
	b.bypassed = b.answering()
	found := slices.Concat(b.bypassed, b.incomplete(), b.proxied(), b.unreached())
	if len(b.bypassed) == 0 {
		found = append(append(found, b.legs()...), b.spread()...)
	}
	return slices.Concat(found, b.announcing(), b.ipv6())
}

// onBalancer is a finding about the load balancer, for its administrators.
func (m balancing) onBalancer(severity Severity, what string, hosts []int, fix string) Finding {
	return Finding{Severity: severity, About: AboutVIP, Owner: BalancerTeam, What: what, Between: m.names(hosts), Fix: m.in.Say(fix)}
}

// unreached returns the findings about hosts that do not always get an answer. If a load balancer
// answers, a single failure of a kind can be a busy host.
func (m balancing) unreached() []Finding {
	by, results := map[string][]int{}, map[string][]Result{}
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		v := m.VIPs[i]
		for _, result := range slices.Sorted(maps.Keys(v.Failures)) {
			if len(v.Answers()) > 0 && (v.Failures[result] < 2 || len(m.bypassed) > 0) {
				continue
			}
			if what := m.fault(i, v, result); what != "" && !slices.Contains(by[what], i) {
				by[what], results[what] = append(by[what], i), append(results[what], result)
			}
		}
	}
	var found []Finding
	for _, what := range slices.Sorted(maps.Keys(by)) {
		f := m.onBalancer(Stops, what, by[what], fixBalancer)
		f.Capture = evidence{m.Matrix}.atBalancer(by[what], Balanced, results[what]...)
		if len(f.Capture) == 0 && (evidence{m.Matrix}).noneLeft(by[what], results[what]) {
			f.NoCapture = m.in.Say("no packets: no SYN to the load balancer left these hosts, because its name has no address, or no device answers ARP for it")
		}
		f.Fix += m.imposter()
		found = append(found, f)
	}
	return found
}

// fault describes why a host does not reach the control plane through the load balancer; "" if
// another finding does. If a control-plane host gets replies from all hosts but itself, hairpin
// connections do not work.
func (m balancing) fault(i int, v *VIP, result Result) string {
	hits, handshake := v.Answers(), result == NoHandshake
	if handshake {
		result = NoReply
	}
	switch {
	case result == TerminatesTLS:
		return m.in.Say("the load balancer terminates TLS (%s) for these hosts", v.Said)
	case result == OtherCertificate:
		return m.in.Say("the load balancer terminates TLS, or another service answers (%s), for these hosts", v.Said)
	case result == WithoutTLS:
		return m.in.Say("another service answers these hosts without TLS (%s)", v.Said)
	case handshake && len(hits) > 0 && len(m.legs()) > 0: // a narrow leg loses handshakes, too
		return ""
	case handshake && v.NeedsSmall():
		return m.in.Say("the load balancer does not answer these hosts if the first message of TLS is larger than one packet, as with post-quantum keys (ML-KEM)")
	case m.Hosts[i].ControlPlane && hits[i] == 0 && len(hits) > 0 && !m.moves():
		return m.in.Say("the load balancer does not connect these hosts to themselves (hairpin)")
	case len(hits) > 0:
		return m.in.Say("the load balancer does not always answer these hosts (%s)", m.in.Say(string(result)))
	default:
		return m.in.Say("the load balancer does not answer these hosts (%s)", m.in.Say(string(m.silence(result))))
	}
}

// silence gives hosts without an answer one reason: a router reports a missing address as unreachable
// after a while, so its results differ by chance.
func (m balancing) silence(result Result) Result {
	silent := slices.ContainsFunc(slices.Collect(maps.Values(m.VIPs)), func(v *VIP) bool { return len(v.Answers()) == 0 && v.Failures[NoReply] > 0 })
	if result == Unreachable && silent {
		return NoReply
	}
	return result
}

// proxied returns the finding about a load balancer that sends the client's address before TLS.
func (m balancing) proxied() []Finding {
	by := map[string][]int{}
	for _, i := range slices.Sorted(maps.Keys(m.Behind)) {
		for _, version := range slices.Sorted(maps.Keys(m.Behind[i].Proxy)) {
			by[version] = append(by[version], i)
		}
	}
	var found []Finding
	for _, version := range slices.Sorted(maps.Keys(by)) {
		f := m.onBalancer(Stops, m.in.Say("the load balancer sends a header of the PROXY protocol (%s) to these hosts, which the API server does not read", version), by[version],
			"turn the PROXY protocol off in the pool of port 6443 (HAProxy: no send-proxy, no send-proxy-v2)")
		f.NoCapture = m.in.Say("no packets: this header is data of the connection, and only headers of packets are captured")
		found = append(found, f)
	}
	return found
}

// spread returns the findings about control-plane hosts that the load balancer does not select.
func (m balancing) spread() []Finding {
	found := m.unselected()
	for i := range found {
		found[i].NoCapture = m.in.Say("no packets: the connections are complete, and the finding is their number by host")
	}
	return found
}

func (m balancing) unselected() []Finding {
	reached, stuck, clients := m.selection()
	var never, standby []int
	hosts := 0
	for i, h := range m.Hosts {
		switch {
		case !h.ControlPlane:
			continue
		case reached[i] > 0:
		case m.isChecked(i):
			standby = append(standby, i)
		default:
			never = append(never, i)
		}
		hosts++
	}
	switch {
	case clients == 0 || m.moves() || hosts < 2:
		return nil
	case len(stuck) == clients && len(reached) > 1:
		return append([]Finding{m.onBalancer(Warns, m.in.Say("the load balancer connects each of these hosts to the same control-plane host every time (persistence by source address), so hairpin connections are not tested"),
			stuck, fixPersistence)}, m.neverSelected(Warns, never)...)
	case len(stuck) == clients && len(standby) > 0:
		return append([]Finding{m.onBalancer(Warns, m.in.Say("the load balancer sends health checks to these hosts, but all requests to another one (persistence by source network, or a standby), so hairpin connections are not tested"),
			standby, fixPersistence)}, m.neverSelected(Stops, never)...)
	}
	found := m.neverSelected(Stops, never)
	if len(standby) > 0 {
		found = append(found, m.onBalancer(Stops, m.in.Say("the load balancer sends health checks, but no requests, to these hosts"), standby,
			"use a health check that only opens a TCP connection to port 6443, and enable these hosts in the pool"))
	}
	return found
}

const fixPersistence = "turn persistence off for port 6443: clients of the API server need none, and after a failure all of them stay on the other hosts"

func (m balancing) neverSelected(severity Severity, hosts []int) []Finding {
	if len(hosts) == 0 {
		return nil
	}
	return []Finding{m.onBalancer(severity, m.in.Say("the load balancer sends no requests to these hosts"), hosts, fixBalancer)}
}

// selection counts the answers of each control-plane host, and returns the clients that always reach
// the same one. A host that has the address reaches only itself.
func (m balancing) selection() (reached map[int]int, stuck []int, clients int) {
	reached = map[int]int{}
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		v := m.VIPs[i]
		hits := v.Answers()
		if v.Own || len(hits) == 0 {
			continue
		}
		clients++
		for host, n := range hits {
			reached[host] += n
		}
		if v.Stuck() {
			stuck = append(stuck, i)
		}
	}
	return reached, stuck, clients
}

// isChecked reports whether a host gets health checks.
func (m balancing) isChecked(i int) bool {
	b := m.Behind[i]
	return b != nil && slices.ContainsFunc(slices.Collect(maps.Values(b.Checks)), func(n int) bool { return n >= checksOfOne })
}

// ipv6 returns the finding about a name with an AAAA record: clients prefer IPv6 (RFC 6724).
func (m balancing) ipv6() []Finding {
	by := map[string][]int{}
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		if addresses := m.VIPs[i].IPv6; len(addresses) > 0 {
			by[joined(addresses)] = append(by[joined(addresses)], i)
		}
	}
	var found []Finding
	for _, addresses := range slices.Sorted(maps.Keys(by)) {
		found = append(found, Finding{
			Severity: Warns, About: AboutVIP, Owner: DNSTeam, What: m.in.Say("the endpoint's name also has an IPv6 address (%s) on these hosts; clients with IPv6 prefer it, and the cluster has no IPv6", addresses),
			Between: m.names(by[addresses]), Fix: m.in.Say("remove the AAAA record of the name in kubernetes.controlPlaneEndpoint"),
		})
	}
	return found
}

func joined(addresses []netip.Addr) string {
	var texts []string
	for _, a := range addresses {
		texts = append(texts, a.String())
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
