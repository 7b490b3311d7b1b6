package agent

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

// traces keeps the headers of the first packets of each TCP connection, and of trains. The report has
// those of failed ones only, so most are thrown away. Hosts of the plan can send any number of packets,
// so all numbers are bounded.
type traces struct {
	mu    sync.Mutex
	kept  map[ends]*trace
	of    map[int]int // number of kept traces by host
	marks []mark
}

const (
	foreign   = -1  // addresses that are not in the plan
	balanced  = -2  // the load balancer
	maxTraces = 512 // of a host: its connections and flows are about 100
	maxTrace  = 12  // packets
	maxTraced = 1024
	maxMarks  = 1024
	maxOfKind = 64 // marks of a host
	// markEarly is more than the time between the kernel's stamp and the clock of this program.
	markEarly = 10 * time.Millisecond
)

// ends are the ends of a connection or a flow.
type ends struct {
	udp        bool
	own, other netip.AddrPort
}

// trace has the first packets of a connection.
type trace struct {
	host    int // of the plan, foreign or balanced
	packets []tracedPacket
}

type tracedPacket struct {
	out     bool
	at      time.Time
	headers []byte
	flags   byte // of TCP that begin or end a connection
	length  int  // of the data
}

// mark is a failed connection.
type mark struct {
	netprobe.Failed

	result netprobe.Result
	// own has port 0 for a dial that failed: then the first packet of the connection is between the times.
	own, other   netip.AddrPort
	began, ended time.Time
	received     bool // by this host
}

// keep keeps the headers of a packet.
func (t *traces) keep(plan hostPlan, endpoint []netip.Addr, b []byte, direction int, at time.Time) {
	h, ok := parseIP(b)
	if !ok || direction == unix.PACKET_OTHERHOST || h.protocol != protoTCP && h.protocol != protoUDP {
		return
	}
	p := tracedPacket{out: direction == unix.PACKET_OUTGOING, at: at, headers: headers(b)}
	e := ends{udp: h.protocol == protoUDP, own: netip.AddrPortFrom(h.to, uint16(h.toPort())), other: netip.AddrPortFrom(h.from, uint16(h.fromPort()))}
	if p.out {
		e.own, e.other = e.other, e.own
	}
	host, known := plan.ByAddress(e.other.Addr())
	if !known || host == plan.Self {
		host = foreign
	}
	switch {
	case host != foreign:
	case slices.Contains(endpoint, e.other.Addr()):
		host = balanced
	case !plan.hasTCP(int(e.own.Port())):
		return
	}
	p.length = h.length - (len(b) - len(h.payload)) - udpHeader
	if !e.udp {
		if len(h.payload) <= flagsAt {
			return
		}
		p.flags = h.payload[flagsAt] & flagsOfEnds
		p.length = h.length - (len(b) - len(h.payload)) - int(h.payload[flagsAt-1]>>4)*4
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(e, host, p)
}

// flagsOfEnds are FIN, SYN, RST and ACK.
const flagsOfEnds = 0x17

func (t *traces) add(e ends, host int, p tracedPacket) {
	of := t.kept[e]
	if of == nil {
		if t.of[host] >= maxTraces {
			return
		}
		if t.kept == nil {
			t.kept, t.of = map[ends]*trace{}, map[int]int{}
		}
		of = &trace{host: host}
		t.kept[e] = of
		t.of[host]++
	}
	alike, last := 0, 0
	for i, q := range of.packets {
		if bytes.Equal(q.headers, p.headers) && q.out == p.out {
			return // a host with a bond sees the same packet twice
		}
		if q.out == p.out && q.flags == p.flags && (q.length > 0) == (p.length > 0) && (!e.udp || q.length == p.length) {
			alike, last = alike+1, i
		}
	}
	switch {
	case alike >= netprobe.MaxAlike:
		of.packets[last] = p // the first one and the last one stay
	case len(of.packets) < maxTrace:
		of.packets = append(of.packets, p)
	}
}

// fails marks a connection with a bad result.
func (t *traces) fails(m mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := 0
	for _, n := range t.marks {
		if n.To == m.To && n.Kind == m.Kind {
			same++
		}
	}
	if same < maxOfKind && len(t.marks) < maxMarks {
		t.marks = append(t.marks, m)
	}
}

// failsTo marks a connection or a flow that host from, this one, began to another host.
func (t *traces) failsTo(from int, kind netprobe.Kind, to, port int, local net.Addr) {
	udp, source := false, 0
	switch address := local.(type) {
	case *net.TCPAddr:
		source = address.Port
	case *net.UDPAddr:
		udp, source = true, address.Port
	}
	t.fails(mark{Failed: netprobe.Failed{From: from, To: to, Kind: kind, Port: port, Source: source, UDP: udp}})
}

// failed returns the failed connections that this host began to other hosts.
func (t *traces) failed(r *record) []netprobe.Failed {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []netprobe.Failed
	for _, m := range t.marks {
		answered := slices.ContainsFunc(r.Attempts, func(a netprobe.Attempt) bool {
			return a.Kind == m.Kind && a.To == m.To && a.Port == m.Port && a.Result == netprobe.Answered // the second time
		})
		if m.Source > 0 && !answered && len(found) < netprobe.MaxFailed {
			found = append(found, m.Failed)
		}
	}
	return found
}

// packets returns the packets of failed connections: of those that this host began, of those in began by
// other hosts, and of those through the load balancer.
func (t *traces) packets(r *record, began []netprobe.Failed) []netprobe.Packet {
	own := t.failed(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []netprobe.Packet
	for e, kept := range t.kept {
		for _, f := range own {
			if kept.host == f.To && e.udp == f.UDP && int(e.other.Port()) == f.Port && int(e.own.Port()) == f.Source {
				all = append(all, kept.as(netprobe.Packet{Peer: f.To, Kind: f.Kind, Port: f.Port}, false)...)
			}
		}
		for _, f := range began {
			if kept.host == f.From && e.udp == f.UDP && int(e.own.Port()) == f.Port && int(e.other.Port()) == f.Source {
				all = append(all, kept.as(netprobe.Packet{Peer: f.From, Kind: f.Kind, Port: f.Port}, true)...)
			}
		}
	}
	for _, m := range t.marks {
		if m.Source == 0 {
			all = append(all, t.find(m).as(netprobe.Packet{Peer: m.To, Kind: m.Kind, Port: m.Port, Result: m.result}, m.received)...)
		}
	}
	slices.SortStableFunc(all, func(a, b netprobe.Packet) int {
		return cmp.Or(a.Peer-b.Peer, cmp.Compare(a.Kind, b.Kind), a.Port-b.Port, a.Time.Compare(b.Time))
	})
	return all[:min(len(all), maxTraced)]
}

// find returns the trace of a connection with an address that is not in the plan; nil without one.
func (t *traces) find(m mark) *trace {
	if m.own.Port() != 0 {
		return t.kept[ends{own: m.own, other: m.other}]
	}
	var found *trace
	for e, kept := range t.kept {
		first := kept.packets[0]
		if e.other == m.other && !e.udp && first.out && first.at.After(m.began.Add(-markEarly)) && first.at.Before(m.ended) {
			if found == nil || first.at.Before(found.packets[0].at) {
				found = kept
			}
		}
	}
	return found
}

// as returns the packets in the form of a report.
func (t *trace) as(p netprobe.Packet, received bool) []netprobe.Packet {
	if t == nil {
		return nil
	}
	var all []netprobe.Packet
	for _, q := range t.packets {
		p.Time, p.Headers = q.at, q.headers
		switch {
		case q.out && received:
			p.Layer = netprobe.AnswerLeft
		case q.out:
			p.Layer = netprobe.RequestLeft
		case received:
			p.Layer = netprobe.AtInterface
		default:
			p.Layer = netprobe.AnswerArrived
		}
		all = append(all, p)
	}
	return all
}

// failsAtBalancer marks a connection of this host to the load balancer.
func (t *vipTest) failsAtBalancer(kind netprobe.Kind, result netprobe.Result, conn net.Conn, began time.Time) {
	m := mark{Failed: netprobe.Failed{To: balanced, Kind: kind}, result: result, began: began, ended: time.Now()}
	if conn != nil {
		m.own, m.other = addrPort(conn.LocalAddr()), addrPort(conn.RemoteAddr())
	} else if _, port, err := net.SplitHostPort(t.plan.VIP); err == nil && len(t.endpoint) > 0 {
		number, _ := strconv.ParseUint(port, 10, 16)
		m.other = netip.AddrPortFrom(t.endpoint[0], uint16(number))
	}
	t.traces.fails(m)
}

// failsHere marks a connection to this host from an address that is not the one of the host in the plan.
func (c conversation) failsHere(kind netprobe.Kind, from int, result netprobe.Result) {
	c.traces.fails(mark{Failed: netprobe.Failed{To: from, Kind: kind, Port: c.port}, result: result,
		own: addrPort(c.conn.LocalAddr()), other: addrPort(c.conn.RemoteAddr()), received: true})
}

func addrPort(a net.Addr) netip.AddrPort {
	address, is := a.(*net.TCPAddr)
	if !is {
		return netip.AddrPort{}
	}
	of := address.AddrPort()
	return netip.AddrPortFrom(of.Addr().Unmap(), of.Port())
}

// numberAt is the offset of the number of a packet in a message of a train.
const numberAt = len(magic) + 2 + 3*2

// magicOf is the word of a message that ends with its kind.
func magicOf(kind netprobe.Kind) uint32 {
	return binary.BigEndian.Uint32([]byte{magic[1], magic[2], magic[3], byte(slices.Index(netprobe.Kinds(), kind))})
}
