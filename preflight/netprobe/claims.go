package netprobe

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
)

// A Claim is another device that uses an address of this host or of the load balancer. Hosts find it
// with ARP probes, which change no table of other hosts (RFC 5227, section 2.1.1).
type Claim struct {
	Address netip.Addr `json:"address"`
	Own     string     `json:"own"`   // MAC address of this host's interface
	MAC     string     `json:"mac"`   // of the other device
	Count   int        `json:"count"` // of its messages
}

// claimRepeats is the number of messages that are no coincidence.
const claimRepeats = 2

// MaxClaims bounds the report: a hostile device can use any number of MAC addresses.
const MaxClaims = 16

// HostClaim is a claim in the report of a host.
type HostClaim struct {
	Host int `json:"host"`
	Claim
}

// claims are the repeated claims to a host's own address, and to the load balancer's one.
func claims(by []*Report) []HostClaim {
	var found []HostClaim
	for i, r := range by {
		if r == nil {
			continue
		}
		for _, c := range r.Claims[:min(len(r.Claims), MaxClaims)] {
			own, errOwn := net.ParseMAC(c.Own)
			mac, errMAC := net.ParseMAC(c.MAC)
			if errOwn != nil || errMAC != nil || !c.Address.Is4() || c.Count < claimRepeats {
				continue
			}
			c.Own, c.MAC = own.String(), mac.String()
			found = append(found, HostClaim{i, c})
		}
	}
	return found
}

// claimed returns the findings about addresses that another device has, too.
func (m *Matrix) claimed() []Finding {
	var found []Finding
	inPlace := map[string][]int{} // hosts by the device that answers for them
	for _, c := range m.Claims {
		if c.Address == m.Hosts[c.Host].Address {
			inPlace[c.MAC] = append(inPlace[c.MAC], c.Host)
		}
	}
	proxies := map[string]bool{}
	for _, c := range m.Claims {
		hosts := inPlace[c.MAC]
		switch {
		case c.Address != m.Hosts[c.Host].Address:
			continue // the load balancer's
		case len(hosts) > 1: // a thief of addresses has one of them
			if !proxies[c.MAC] {
				proxies[c.MAC] = true
				found = append(found, Finding{Severity: Warns, About: AboutDuplicates, Owner: NetworkTeam, What: m.in.Say("the device %s answers ARP in place of these hosts", c.MAC), Between: m.names(hosts),
					Fix: m.in.Say("ask whether the port isolates hosts (private VLAN, local proxy ARP): then switch it off between these hosts; otherwise the device has their addresses"), Capture: evidence{m}.messages(c)})
			}
		case m.device(c.MAC) != c.MAC:
			found = append(found, Finding{Severity: Stops, About: AboutDuplicates, Owner: HostTeam, What: m.in.Say("another device, %s, also has the address %s of %s", m.device(c.MAC), c.Address, c.Own), Between: m.names([]int{c.Host}),
				Fix: m.in.Say("remove the address from the other host")})
		default:
			found = append(found, Finding{Severity: Stops, About: AboutDuplicates, Owner: NetworkTeam, What: m.in.Say("another device, %s, also has the address %s of %s", m.device(c.MAC), c.Address, c.Own), Between: m.names([]int{c.Host}),
				Fix: m.in.Say("find the port of the device in the MAC address table of the switches, and give one of the two another address"), Capture: evidence{m}.messages(c)})
		}
	}
	return append(found, m.claimedVIP()...)
}

// device is the MAC address of a device, with the name of the host that has it.
func (m *Matrix) device(mac string) string {
	if i := slices.IndexFunc(m.cards, func(c card) bool { return c.mac == mac }); i >= 0 {
		return fmt.Sprintf("%s (%s)", mac, m.Hosts[m.cards[i].host].Name)
	}
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) { // software interfaces are no cards
		if m.VIPs[i].MAC == mac {
			return fmt.Sprintf("%s (%s)", mac, m.Hosts[i].Name)
		}
	}
	return mac
}

// balancers are the devices that answer ARP requests for the load balancer's address, and how many of
// them are no hosts of the plan.
func (m *Matrix) balancers() (address netip.Addr, macs []string, foreign int) {
	for _, c := range m.Claims {
		another := address.IsValid() && c.Address != address // not from an agent
		if c.Address == m.Hosts[c.Host].Address || another || slices.Contains(macs, c.MAC) {
			continue
		}
		address, macs = c.Address, append(macs, c.MAC)
		if m.device(c.MAC) == c.MAC {
			foreign++
		}
	}
	slices.Sort(macs)
	return address, macs, foreign
}

// claimedVIP returns the finding about several devices with the load balancer's address. The findings
// about the load balancer name the hosts of the plan that answer next to it.
func (m *Matrix) claimedVIP() []Finding {
	address, macs, foreign := m.balancers()
	if len(macs) < 2 || foreign == 0 || foreign == 1 && len(balancing{Matrix: m}.answering()) > 0 {
		return nil
	}
	var names, messages []string
	for _, c := range m.Claims {
		if c.Address == address {
			messages = append(messages, evidence{m}.messages(c)...)
		}
	}
	for _, mac := range macs {
		names = append(names, m.device(mac))
	}
	return []Finding{{Severity: Stops, About: AboutVIP, Owner: NetworkTeam, What: m.in.Say("several devices have the load balancer's address %s", address), Between: m.few(names),
		Fix: m.in.Say("find the ports of the devices in the MAC address table of the switches, and leave the address to one of them; real servers of direct server return need arp_ignore = 1"), Capture: bounded(messages)}}
}

// imposter is advice about the only device with the load balancer's address, if it connects to no
// control-plane host; "" without one.
func (m balancing) imposter() string {
	_, macs, foreign := m.balancers()
	for _, v := range m.VIPs {
		if len(v.Answers()) > 0 {
			return ""
		}
	}
	if len(macs) != 1 || foreign != 1 {
		return ""
	}
	return m.in.Say("; the device %s has the address: if it is not the load balancer, find its port in the MAC address table of the switches", macs[0])
}

// card is a network card of a host of the measurement.
type card struct {
	mac  string
	host int
}

func cards(by []*Report) []card {
	const maxCards = 64
	var found []card
	for i, r := range by {
		if r == nil {
			continue
		}
		for _, mac := range r.Identity.MACs[:min(len(r.Identity.MACs), maxCards)] {
			found = append(found, card{mac, i})
		}
	}
	return found
}
