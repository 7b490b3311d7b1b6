package agent

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mdlayher/packet"

	"airgap.dev/airgap/preflight/netprobe"
)

// arrivals counts the packets of trains that arrive at this host's interface. Its memory is bounded
// by the hosts of the plan: only they have the token.
type arrivals struct {
	captures atomic.Bool // the sniffer runs
	card     string      // name of the interface
	mu       sync.Mutex
	trains   map[int][]*arrived // by sender, the latest last
	conn     *packet.Conn
	drops    int // of conn
}

// keptTrains is the number of trains kept for each sender, which sends one after the other.
const keptTrains = 4

// arrived has the received packets of one train. A repeated packet counts once.
type arrived struct {
	kind      netprobe.Kind
	clock     int64
	seen      [maxTrain / 64]uint64
	last      [netprobe.FlowCount]int // the highest number of each flow, plus one
	reordered int
}

// numbered returns the message of a captured UDP packet that belongs to a train to this host.
func (p hostPlan) numbered(b []byte) (message, bool) {
	h, ok := parseIP(b)
	if !ok || h.protocol != protoUDP || len(h.payload) < udpHeader+messageSize {
		return message{}, false
	}
	data := h.payload[udpHeader:]
	if number := int(data[len(magic)]); number >= len(netprobe.Kinds()) || !numbered(netprobe.Kinds()[number]) {
		return message{}, false // before the HMAC, which costs more
	}
	m, err := decode(p.Token, data)
	return m, err == nil && !m.reply && m.to == p.Self && m.from < len(p.Hosts) && m.size < maxTrain
}

func (a *arrivals) add(m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.find(m)
	if t == nil {
		if t = (&arrived{kind: m.kind, clock: m.clock.UnixNano()}); a.trains == nil {
			a.trains = map[int][]*arrived{}
		}
		all := append(a.trains[m.from], t)
		a.trains[m.from] = all[max(0, len(all)-keptTrains):]
	}
	word, bit := m.size/64, uint64(1)<<(m.size%64)
	if t.seen[word]&bit != 0 {
		return
	}
	t.seen[word] |= bit
	flow := t.flow(m.size)
	if m.size < t.last[flow] {
		t.reordered++
	} else {
		t.last[flow] = m.size + 1
	}
}

func (a *arrivals) find(m message) *arrived {
	for _, t := range a.trains[m.from] {
		if t.kind == m.kind && t.clock == m.clock.UnixNano() {
			return t
		}
	}
	return nil
}

func (t *arrived) flow(number int) int {
	if t.kind == netprobe.Burst {
		return 0
	}
	return number % netprobe.FlowCount
}

// tally is the receiver's result of a train, at the time of the question.
type tally struct {
	flows     [netprobe.FlowCount]int // arrived packets
	late      int                     // of them, those from a given number on
	reordered int                     // after a later packet of the same flow
	overrun   int                     // packets that this host has dropped itself since it started
}

const tallySize = 2*netprobe.FlowCount + 2 + 2 + 4

// tally returns the result of the train of the message, whose size is the number for late.
func (a *arrivals) tally(m message) tally {
	t := tally{overrun: a.overrun()}
	a.mu.Lock()
	defer a.mu.Unlock()
	got := a.find(m)
	if got == nil {
		return t
	}
	t.reordered = got.reordered
	for number := range maxTrain {
		if got.seen[number/64]&(1<<(number%64)) == 0 {
			continue
		}
		t.flows[got.flow(number)]++
		if number >= m.size {
			t.late++
		}
	}
	return t
}

func (t tally) arrived() int {
	n := 0
	for _, flow := range t.flows {
		n += flow
	}
	return n
}

func (t tally) encode() []byte {
	b := make([]byte, 0, tallySize)
	for _, n := range t.flows {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	}
	b = binary.BigEndian.AppendUint16(b, uint16(t.late))
	b = binary.BigEndian.AppendUint16(b, uint16(t.reordered))
	return binary.BigEndian.AppendUint32(b, uint32(t.overrun))
}

// decodeTally returns zeros for data of another length.
func decodeTally(b []byte) (t tally) {
	if len(b) != tallySize {
		return t
	}
	for i := range t.flows {
		t.flows[i] = int(binary.BigEndian.Uint16(b[2*i:]))
	}
	rest := b[2*netprobe.FlowCount:]
	t.late, t.reordered, t.overrun = int(binary.BigEndian.Uint16(rest)), int(binary.BigEndian.Uint16(rest[2:])), int(binary.BigEndian.Uint32(rest[4:]))
	return t
}

// overrun is the number of packets that this host has dropped itself: the network card without
// buffers, the kernel's queue of each processor, and the capturing socket.
func (a *arrivals) overrun() int {
	missed, _ := os.ReadFile("/sys/class/net/" + a.card + "/statistics/rx_missed_errors") // not every card counts them
	n, _ := strconv.Atoi(strings.TrimSpace(string(missed)))
	softnet, _ := os.ReadFile("/proc/net/softnet_stat")
	for line := range strings.Lines(string(softnet)) {
		var processed, dropped int
		if _, err := fmt.Sscanf(line, "%x %x", &processed, &dropped); err == nil {
			n += dropped
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil {
		if stats, err := a.conn.Stats(); err == nil { // the kernel counts from zero after each call
			a.drops += int(stats.Drops)
		}
	}
	return n + a.drops
}
