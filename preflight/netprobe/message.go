package netprobe

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Token authenticates the messages of one measurement. Its text form is 64 hexadecimal digits.
type Token [32]byte

// NewToken returns a random token for a single measurement.
func NewToken() Token {
	var t Token
	_, _ = rand.Read(t[:]) // never fails: the program would exit
	return t
}

// MarshalText writes the token for another host. It is secret until the end of the measurement.
func (t Token) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, t[:]), nil }

// UnmarshalText reads the output of MarshalText.
func (t *Token) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(t[:], text[:min(len(text), 2*len(t))]); err != nil || n != len(t) || len(text) != 2*len(t) {
		return fmt.Errorf("read the token of the measurement: expected %d hexadecimal digits", 2*len(t))
	}
	return nil
}

// String keeps the token out of logs.
func (t Token) String() string { return "(token)" }

// Kind is a kind of test.
type Kind string

// The kinds of tests. Those of VXLAN run inside the tunnel.
const (
	TCP       Kind = "tcp"
	UDP       Kind = "udp"
	IPIP      Kind = "ipip" // protocol 4
	Size      Kind = "size" // a packet of a certain size that must not be fragmented
	VXLANPing Kind = "vxlan-ping"
	VXLANUDP  Kind = "vxlan-udp"
	VXLANTCP  Kind = "vxlan-tcp" // 1 MiB
	// Soft is VXLANTCP with checksums by the CPU instead of the network card.
	Soft Kind = "vxlan-tcp-soft"
	// Routed is a packet with pod addresses, sent to the other host without a tunnel. If switches or
	// hypervisors drop unknown addresses, the pod network needs a tunnel.
	Routed Kind = "routed"
	// TLS is a handshake like that of Kubernetes, and 64 KiB each way, on a TCP port.
	TLS Kind = "tls"

	// Session, Paced, Burst and Bulk measure the numbers of a path, see Path.
	Session Kind = "session"
	Paced   Kind = "paced"
	Burst   Kind = "burst"
	Bulk    Kind = "bulk"
)

// inside reports whether the test runs inside a VXLAN.
func (k Kind) inside() bool { return k == VXLANPing || k == VXLANUDP || k == VXLANTCP || k == Soft }

// kinds lists the kinds in the order of their numbers on the wire.
func kinds() []Kind {
	return []Kind{TCP, UDP, IPIP, Size, VXLANPing, VXLANUDP, VXLANTCP, Soft, Routed, TLS, Session, Paced, Burst, Bulk}
}

// message is a message between hosts. On the wire, in network order: "AGPR", kind (1 byte), reply
// (1), from, to, port, size (2 each), the sender's clock in nanoseconds since 1970 (8), and the
// first 16 bytes of the HMAC-SHA256 of these fields with the token as key. Zeros can follow, up to
// a tested size.
type message struct {
	kind     Kind
	reply    bool
	from, to int // numbers of hosts in the plan
	port     int // destination port
	size     int // bytes of the IP packet, in tests of sizes; number of the packet, in trains
	clock    time.Time
}

const (
	magic       = "AGPR"
	macSize     = 16
	bodySize    = len(magic) + 2 + 4*2 + 8
	messageSize = bodySize + macSize
)

var errForeign = errors.New("not a message of this measurement")

func (m message) encode(t Token) []byte {
	b := make([]byte, 0, messageSize)
	b = append(b, magic...)
	number := byte(0)
	for i, k := range kinds() {
		if k == m.kind {
			number = byte(i)
		}
	}
	reply := byte(0)
	if m.reply {
		reply = 1
	}
	b = append(b, number, reply)
	for _, v := range []int{m.from, m.to, m.port, m.size} {
		b = binary.BigEndian.AppendUint16(b, uint16(v))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(m.clock.UnixNano()))
	return append(b, t.mac(b)...)
}

func (t Token) mac(body []byte) []byte {
	h := hmac.New(sha256.New, t[:])
	h.Write(body)
	return h.Sum(nil)[:macSize]
}

// decode returns errForeign for anything but a message with a valid HMAC of this token.
func (t Token) decode(b []byte) (message, error) {
	if len(b) < messageSize || string(b[:len(magic)]) != magic || !hmac.Equal(b[bodySize:messageSize], t.mac(b[:bodySize])) {
		return message{}, errForeign
	}
	number := int(b[4])
	if number >= len(kinds()) || b[5] > 1 {
		return message{}, errForeign
	}
	at := func(i int) int { return int(binary.BigEndian.Uint16(b[6+2*i:])) }
	return message{
		kind: kinds()[number], reply: b[5] == 1, from: at(0), to: at(1), port: at(2), size: at(3),
		clock: time.Unix(0, int64(binary.BigEndian.Uint64(b[14:]))),
	}, nil
}

// padded returns the message with zeros up to length bytes.
func (m message) padded(t Token, length int) []byte {
	b := m.encode(t)
	return append(b, make([]byte, max(0, length-len(b)))...)
}
