package facts

import (
	"net/netip"
	"slices"
)

// NameAnswers are the answers of the site's name servers to this host. Package nameservers asks them.
type NameAnswers struct {
	Outcome   Outcome
	Servers   []NameServer
	Wildcards []Wildcard
}

// NameServer is a name server, asked from this host.
type NameServer struct {
	Address string
	// UDP and TCP are why there was no answer; "" for an answer.
	UDP, TCP string
	Refuses  bool // it refuses every question (RCODE 5): it does not serve this host
	// Names are the addresses by name; none for a name that it does not know. A name without an answer
	// is absent.
	Names map[string][]netip.Addr
}

// Wildcard is a search domain with an address for every name.
type Wildcard struct {
	Domain  string
	Server  string
	Address netip.Addr
}

// Lookup returns the addresses of a name in /etc/hosts and of all name servers.
func (f *Facts) Lookup(name string) []netip.Addr {
	var found []netip.Addr
	add := func(a netip.Addr) {
		if !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	for _, e := range f.Hosts {
		if a, err := netip.ParseAddr(e.Address); err == nil && slices.Contains(e.Names, name) {
			add(a)
		}
	}
	for _, s := range f.Asked.NameServers.Servers {
		for _, a := range s.Names[name] {
			add(a)
		}
	}
	return found
}
