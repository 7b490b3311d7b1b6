package agent

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// message is a message between hosts. On the wire, in network order: "AGPR", kind (1 byte), reply
// (1), from, to, port, size (2 each), the sender's clock in nanoseconds since 1970 (8), and the
// first 16 bytes of the HMAC-SHA256 of these fields with the token as key. Zeros can follow, up to
// a tested size.
type message struct {
	kind     netprobe.Kind
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

func (m message) encode(t netprobe.Token) []byte {
	b := make([]byte, 0, messageSize)
	b = append(b, magic...)
	number := byte(0)
	for i, k := range netprobe.Kinds() {
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
	return append(b, mac(t, b)...)
}

func mac(t netprobe.Token, body []byte) []byte {
	h := hmac.New(sha256.New, t[:])
	h.Write(body)
	return h.Sum(nil)[:macSize]
}

// decode returns errForeign for anything but a message with a valid HMAC of this token.
func decode(t netprobe.Token, b []byte) (message, error) {
	if len(b) < messageSize || string(b[:len(magic)]) != magic || !hmac.Equal(b[bodySize:messageSize], mac(t, b[:bodySize])) {
		return message{}, errForeign
	}
	number := int(b[4])
	if number >= len(netprobe.Kinds()) || b[5] > 1 {
		return message{}, errForeign
	}
	at := func(i int) int { return int(binary.BigEndian.Uint16(b[6+2*i:])) }
	return message{
		kind: netprobe.Kinds()[number], reply: b[5] == 1, from: at(0), to: at(1), port: at(2), size: at(3),
		clock: time.Unix(0, int64(binary.BigEndian.Uint64(b[14:]))),
	}, nil
}

// padded returns the message with zeros up to length bytes.
func (m message) padded(t netprobe.Token, length int) []byte {
	b := m.encode(t)
	return append(b, make([]byte, max(0, length-len(b)))...)
}
