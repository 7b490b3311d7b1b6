package nodereport

import (
	"io/fs"
	"net"
	"net/netip"
	"time"
)

// HostLinks has the interfaces that carry the packets of the node's address, and connection tracking.
type HostLinks struct {
	Interfaces []Interface `json:"interfaces,omitempty"`
	Bonds      []Bond      `json:"bonds,omitempty"`
	Conntrack  *Conntrack  `json:"conntrack,omitempty"` // nil: the kernel has not loaded it
}

// Interface is an interface without others below it: usually a network card.
type Interface struct {
	Name    string `json:"name"`
	Speed   int    `json:"speed,omitempty"`   // Mbit/s; 0: unknown, as on many virtual interfaces
	Duplex  string `json:"duplex,omitempty"`  // "full" or "half"; "": unknown
	Carrier string `json:"carrier,omitempty"` // "up" or "down"; "": unknown
	// Grown has the counters of the last two intervals, the older one first. It is empty until two
	// intervals have ended.
	Grown []LinkCounters `json:"grown,omitempty"`
}

// LinkCounters are the kernel's counters of an interface. In a report, each is its growth in an interval.
type LinkCounters struct {
	Received       int64 `json:"received,omitempty"`       // packets
	Sent           int64 `json:"sent,omitempty"`           // packets
	CRC            int64 `json:"crc,omitempty"`            // received frames with a wrong checksum
	Frame          int64 `json:"frame,omitempty"`          // received frames with a wrong alignment
	ReceiveErrors  int64 `json:"receiveErrors,omitempty"`  // all received frames with errors
	ReceiveMissed  int64 `json:"receiveMissed,omitempty"`  // frames that the card had no buffer for
	ReceiveDropped int64 `json:"receiveDropped,omitempty"` // also packets of protocols that the host does not use
	SendErrors     int64 `json:"sendErrors,omitempty"`
	SendDropped    int64 `json:"sendDropped,omitempty"`
	CarrierChanges int64 `json:"carrierChanges,omitempty"` // each loss and each return of the carrier
}

// Bond is a bond with its members.
type Bond struct {
	Name    string       `json:"name"`
	Mode    string       `json:"mode,omitempty"`   // "802.3ad", "active-backup"
	Active  string       `json:"active,omitempty"` // the member in use, of modes that use only one
	Members []BondMember `json:"members,omitempty"`
	// Missing are interfaces that the host's files add to the bond, but that are not members.
	Missing []string `json:"missing,omitempty"`
}

// BondMember is an interface in a bond.
type BondMember struct {
	Name string `json:"name"`
	Up   bool   `json:"up"` // according to the bond and the carrier
	// NoLACP: the switch sends no LACP on this link, or has not put it into a port channel.
	NoLACP bool `json:"noLACP,omitempty"`
}

// Conntrack is the connection tracking table of the host.
type Conntrack struct {
	Count int64               `json:"count"`           // connections
	Max   int64               `json:"max"`             // 0: unknown or no limit
	Grown []ConntrackCounters `json:"grown,omitempty"` // like Interface.Grown
}

// ConntrackCounters are sums over all CPUs. In a report, each is its growth in an interval.
type ConntrackCounters struct {
	Received     int64 `json:"received,omitempty"`     // IP packets that reached the host, also from pods
	Invalid      int64 `json:"invalid,omitempty"`      // packets of no known connection
	InsertFailed int64 `json:"insertFailed,omitempty"` // usually two packets of one new connection at the same time
	Drop         int64 `json:"drop,omitempty"`         // packets
	EarlyDrop    int64 `json:"earlyDrop,omitempty"`    // connections that made room in a full table
}

// LinkHistory reads HostLinks and remembers the counters of the last two intervals. Its zero value
// is ready. A new program has no history: counters mean nothing without a time in which they grew.
type LinkHistory struct {
	began     time.Time // of the current interval
	links     history[LinkCounters]
	conntrack history[ConntrackCounters]
}

// LinkInterval is the time in which counters are compared. A look that comes much later does not end
// an interval: the host was suspended, or the program hung.
const (
	LinkInterval    = 5 * time.Minute
	longestInterval = LinkInterval + time.Minute
)

// Read reads the interfaces below link, the interface with the node's address. It must not run twice
// at the same time.
func (h *LinkHistory) Read(fsys fs.FS, link string, now time.Time) *HostLinks {
	below := interfacesBelow(fsys, link)
	found := &HostLinks{Bonds: bonds(fsys, below.bonds), Conntrack: readConntrack(fsys)}
	counted, tracked := map[string]LinkCounters{}, map[string]ConntrackCounters{}
	for _, name := range below.leaves {
		counted[counterKey(fsys, name)] = readCounters(fsys, name)
	}
	if found.Conntrack != nil {
		tracked[""] = readConntrackCounters(fsys)
	}
	switch since := now.Sub(h.began); {
	case h.began.IsZero(), since < 0, since > longestInterval:
		*h = LinkHistory{began: now}
		h.links.begin(counted)
		h.conntrack.begin(tracked)
	case since >= LinkInterval:
		h.began = now
		h.links.next(counted)
		h.conntrack.next(tracked)
	}
	for _, name := range below.leaves {
		i := readInterface(fsys, name)
		i.Grown = h.links.grown(counterKey(fsys, name))
		found.Interfaces = append(found.Interfaces, i)
	}
	if found.Conntrack != nil {
		found.Conntrack.Grown = h.conntrack.grown("")
	}
	return found
}

// InterfaceWith returns the interface that has an address, or "".
func InterfaceWith(address string) (string, error) {
	want, err := netip.ParseAddr(address)
	if err != nil {
		return "", err
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue // it was removed in this moment
		}
		for _, a := range addresses {
			if has, err := netip.ParsePrefix(a.String()); err == nil && has.Addr().Unmap() == want.Unmap() {
				return i.Name, nil
			}
		}
	}
	return "", nil
}
