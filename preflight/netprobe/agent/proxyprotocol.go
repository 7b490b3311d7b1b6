package agent

import (
	"bufio"
	"encoding/binary"
	"net"
	"strings"
)

// peeked is a connection with buffered input.
type peeked struct {
	net.Conn

	r     *bufio.Reader
	proxy string // version of the PROXY protocol, "" without its header
}

func (p peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// Headers of the PROXY protocol, by the specification of HAProxy (proxy-protocol.txt): a line of at
// most 107 bytes, or a signature with the length of the rest.
const (
	proxyV1       = "PROXY "
	proxyV1Length = 107
	proxyV2       = "\r\n\r\n\x00\r\nQUIT\n"
	proxyV2Length = 16
	proxyV2Most   = 1024 // addresses and extensions; more is no header
)

// skipProxy removes the header of the PROXY protocol from the start of a connection, and returns its
// version; "" without a header. A load balancer sends it before the client's first byte.
func skipProxy(r *bufio.Reader) (string, error) {
	first, err := r.Peek(1)
	if err != nil {
		return "", err
	}
	switch first[0] {
	case proxyV1[0]:
		start, _ := r.Peek(len(proxyV1)) // fewer bytes are from another program, too
		if string(start) != proxyV1 {
			return "", nil // another program
		}
		for length := len(proxyV1); length <= proxyV1Length; length++ {
			line, err := r.Peek(length)
			if err != nil {
				return "", err
			}
			if strings.HasSuffix(string(line), "\r\n") {
				_, err := r.Discard(length)
				return "v1", err
			}
		}
	case proxyV2[0]:
		header, _ := r.Peek(proxyV2Length)
		if len(header) < proxyV2Length || string(header[:len(proxyV2)]) != proxyV2 {
			return "", nil
		}
		length := int(binary.BigEndian.Uint16(header[proxyV2Length-2:]))
		if length > proxyV2Most {
			return "", nil
		}
		_, err = r.Discard(proxyV2Length + length)
		return "v2", err
	}
	return "", nil
}
