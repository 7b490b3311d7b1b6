package agent

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// An ARP message for IPv4 on Ethernet (RFC 826).
const (
	arpSize    = 28
	arpEther   = 1
	arpAsks    = 1
	arpAddress = 14 // offset of the sender's IPv4 address, behind its hardware address
)

// arpRequest asks who has an address. The hosts that receive it learn the address of the sender.
func arpRequest(mac net.HardwareAddr, from, of netip.Addr) []byte {
	b := binary.BigEndian.AppendUint16(nil, arpEther)
	b = binary.BigEndian.AppendUint16(b, unix.ETH_P_IP)
	b = append(b, 6, 4)
	b = binary.BigEndian.AppendUint16(b, arpAsks)
	b = append(append(b, mac...), from.AsSlice()...)
	return append(append(b, make([]byte, 6)...), of.AsSlice()...)
}

// arpProbe is a request without an address of the sender, so that no host learns it.
func arpProbe(mac net.HardwareAddr, of netip.Addr) []byte {
	return arpRequest(mac, netip.IPv4Unspecified(), of)
}

// arpSender returns the device that says that it has an IPv4 address, in a request or a reply.
func arpSender(b []byte) (mac net.HardwareAddr, address netip.Addr, ok bool) {
	if len(b) < arpSize || binary.BigEndian.Uint16(b) != arpEther || binary.BigEndian.Uint16(b[2:]) != unix.ETH_P_IP || b[4] != 6 || b[5] != 4 {
		return nil, netip.Addr{}, false
	}
	address = netip.AddrFrom4([4]byte(b[arpAddress : arpAddress+4]))
	return bytes.Clone(b[arpAddress-6 : arpAddress]), address, !address.IsUnspecified()
}
