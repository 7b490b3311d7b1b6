package netprobe

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
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

// Inside reports whether the test runs inside a VXLAN.
func (k Kind) Inside() bool { return k == VXLANPing || k == VXLANUDP || k == VXLANTCP || k == Soft }

// Kinds lists the kinds in the order of their numbers on the wire.
func Kinds() []Kind {
	return []Kind{TCP, UDP, IPIP, Size, VXLANPing, VXLANUDP, VXLANTCP, Soft, Routed, TLS, Session, Paced, Burst, Bulk}
}
