package lab

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
)

// createNames starts the site's name server. It knows no names.
func (r *Racks) createNames(ctx context.Context) error {
	if err := r.IP(ctx, RouterSpace, "addr add $names/32 dev lo"); err != nil {
		return err
	}
	return r.Names(ctx, nameServer, "", true)
}

// Names starts a name server in the router's namespace. It has a wildcard record for the names
// that end with wildcard, and no other names. Without overTCP it answers UDP only.
func (r *Racks) Names(ctx context.Context, at netip.Addr, wildcard string, overTCP bool) error {
	addr := netip.AddrPortFrom(at, 53)
	var conn net.PacketConn
	if err := r.within(RouterSpace, func() (err error) {
		conn, err = new(net.ListenConfig).ListenPacket(ctx, "udp4", addr.String())
		return err
	}); err != nil {
		return err
	}
	r.ends = append(r.ends, conn.Close)
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply, ok := answerName(buf[:n], wildcard); ok {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	if !overTCP {
		return nil
	}
	return r.Accept(ctx, RouterSpace, addr, func(conn net.Conn) {
		defer conn.Close()
		for {
			var length uint16
			if err := binary.Read(conn, binary.BigEndian, &length); err != nil {
				return
			}
			query := make([]byte, length)
			if _, err := io.ReadFull(conn, query); err != nil {
				return
			}
			reply, ok := answerName(query, wildcard)
			if !ok {
				return
			}
			_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
		}
	})
}

const (
	dnsHeader     = 12
	dnsA          = 1
	dnsResponse   = 0x8580 // an authoritative response, recursion desired and available
	dnsNoSuchName = 3
)

// answerName answers a query with one question (RFC 1035): an address for a name below
// wildcard, otherwise NXDOMAIN.
func answerName(query []byte, wildcard string) ([]byte, bool) {
	if len(query) < dnsHeader || binary.BigEndian.Uint16(query[4:]) != 1 {
		return nil, false
	}
	var labels []string
	at := dnsHeader
	for at < len(query) && query[at] != 0 {
		end := at + 1 + int(query[at])
		if end >= len(query) {
			return nil, false
		}
		labels = append(labels, string(query[at+1:end]))
		at = end
	}
	at += 5 // the root, type and class
	if at > len(query) {
		return nil, false
	}
	name := strings.ToLower(strings.Join(labels, "."))
	known := wildcard != "" && (name == wildcard || strings.HasSuffix(name, "."+wildcard))
	reply := append([]byte(nil), query[:at]...)
	flags, answers := uint16(dnsResponse), uint16(0)
	switch {
	case !known:
		flags |= dnsNoSuchName
	case binary.BigEndian.Uint16(query[at-4:]) == dnsA:
		answers = 1
		reply = append(reply, 0xc0, dnsHeader, 0, dnsA, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1)
	}
	binary.BigEndian.PutUint16(reply[2:], flags)
	binary.BigEndian.PutUint16(reply[6:], answers)
	binary.BigEndian.PutUint32(reply[8:], 0)
	return reply, true
}
