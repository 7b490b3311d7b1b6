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

// Token makes the messages of one measurement known to its hosts, and to nobody else.
// It is written as 64 hexadecimal digits.
type Token [32]byte

// NewToken makes one, for a single measurement.
func NewToken() Token {
	var t Token
	_, _ = rand.Read(t[:]) // it never fails: the program would have ended
	return t
}

// MarshalText writes the token for another host; it is a secret until the measurement is
// over.
func (t Token) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, t[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (t *Token) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(t[:], text[:min(len(text), 2*len(t))]); err != nil || n != len(t) || len(text) != 2*len(t) {
		return fmt.Errorf("read the probe's token: want %d hexadecimal digits", 2*len(t))
	}
	return nil
}

// String keeps it out of logs.
func (t Token) String() string { return "(token)" }

// Kind is what is tried.
type Kind string

// The kinds of attempts. Those of VXLAN are made inside it.
const (
	TCP       Kind = "tcp"
	UDP       Kind = "udp"
	IPIP      Kind = "ipip" // protocol 4
	Size      Kind = "size" // a packet of a size that must not be cut in pieces
	VXLANPing Kind = "vxlan-ping"
	VXLANUDP  Kind = "vxlan-udp"
	VXLANTCP  Kind = "vxlan-tcp" // 1 MiB
	// Soft is VXLANTCP with checksums that the processor makes, not the network card.
	Soft Kind = "vxlan-tcp-soft"
	// Routed is a packet with pods' addresses, sent to the other host as it is: where
	// switches or hypervisors drop foreign addresses, there is no doing without a tunnel.
	Routed Kind = "routed"
)

// inside tells the kinds of attempts that are made in a VXLAN.
func (k Kind) inside() bool { return k == VXLANPing || k == VXLANUDP || k == VXLANTCP || k == Soft }

// kinds are in the order of their numbers on the wire.
func kinds() []Kind { return []Kind{TCP, UDP, IPIP, Size, VXLANPing, VXLANUDP, VXLANTCP, Soft, Routed} }

// message is what hosts send each other. On the wire, in network order: "AGPR", kind (1
// byte), reply (1), from, to, port, size (2 each), the sender's clock in nanoseconds
// since 1970 (8), and the first 16 bytes of HMAC-SHA256 over what comes before, with the
// token as key. Zeros may follow, up to a size that is tried.
type message struct {
	kind     Kind
	reply    bool
	from, to int // hosts of the plan
	port     int // that it was sent to
	size     int // bytes of the IP packet, where that is what is tried
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

// decode gives errForeign for whatever is not a message with this token's code.
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

// padded is the message with zeros up to a number of bytes.
func (m message) padded(t Token, length int) []byte {
	b := m.encode(t)
	return append(b, make([]byte, max(0, length-len(b)))...)
}
