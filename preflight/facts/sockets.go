package facts

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Listener is a listening socket.
type Listener struct {
	Protocol string     `yaml:"protocol" json:"protocol"` // "tcp" or "udp"
	Address  netip.Addr `yaml:"address" json:"address"`
	Port     int        `yaml:"port" json:"port"`
	Process  string     `yaml:"process,omitempty" json:"process,omitempty"` // "" if it cannot be read
}

// readListening reads the kernel's socket tables. It gets the process names from ss, and works
// without them.
func readListening(ctx context.Context, r reader, f *Facts) error {
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := r.optional("proc/net/" + name) // tcp6 and udp6 do not exist without IPv6
		if err != nil {
			return err
		}
		listeners, err := parseSockets(strings.TrimSuffix(name, "6"), text)
		if err != nil {
			return err
		}
		f.Listening = append(f.Listening, listeners...)
	}
	out, err := r.output(ctx, "ss", "--no-header", "--numeric", "--listening", "--tcp", "--udp", "--processes")
	if err != nil {
		return ctx.Err()
	}
	owners := parseOwners(out)
	for i, l := range f.Listening {
		f.Listening[i].Process = owners[l.Protocol+strconv.Itoa(l.Port)]
	}
	return nil
}

// parseSockets reads /proc/net/tcp and the similar files. State 0A is a listening TCP socket, 07
// an unconnected UDP socket.
func parseSockets(protocol, text string) ([]Listener, error) {
	waiting := map[string]string{"tcp": "0A", "udp": "07"}[protocol]
	var found []Listener
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if i == 0 || len(words) < 4 || words[3] != waiting {
			continue
		}
		address, port, err := parseSocketAddress(words[1])
		if err != nil {
			return nil, fmt.Errorf("parse /proc/net/%s: %w", protocol, err)
		}
		l := Listener{Protocol: protocol, Address: address, Port: port}
		if !slices.Contains(found, l) { // with SO_REUSEPORT several sockets are equal
			found = append(found, l)
		}
	}
	return found, nil
}

// parseSocketAddress reads 0100007F:1F90: an address in little-endian words of 32 bits, and a
// port in network order.
func parseSocketAddress(text string) (netip.Addr, int, error) {
	hexAddress, hexPort, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(hexAddress)
	if err != nil {
		return netip.Addr{}, 0, err
	}
	if len(raw) != 4 && len(raw) != 16 {
		return netip.Addr{}, 0, errors.New("address is not 4 or 16 bytes long: " + text)
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	port, err := strconv.ParseUint(hexPort, 16, 16)
	address, _ := netip.AddrFromSlice(raw)
	return address.Unmap(), int(port), err
}

// parseOwners reads the output of ss: protocol, state, two queues, local address, peer,
// users:(("sshd",pid=1,fd=3)). The result has the process by protocol and port: "tcp22".
func parseOwners(text string) map[string]string {
	owner := regexp.MustCompile(`users:\(\("([^"]+)"`)
	owners := map[string]string{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		match := owner.FindStringSubmatch(line)
		if len(words) < 5 || match == nil {
			continue
		}
		port := words[4][strings.LastIndex(words[4], ":")+1:]
		owners[words[0]+port] = match[1]
	}
	return owners
}

// String is the port in the usual form: "6443/tcp".
func (p Port) String() string { return fmt.Sprintf("%d/%s", p.Number, p.Protocol) }

// Holder is the process that listens on the port; "" for none. It ignores airgap itself: its
// registry may still run after an interrupted installation.
func (f *Facts) Holder(p Port) string {
	for _, l := range f.Listening {
		if l.Protocol != p.Protocol || l.Port != p.Number || l.Process == "airgap" || p.Redirected && l.Process == "crio" {
			continue
		}
		if l.Process == "" {
			return "a process that only root can see"
		}
		return l.Process
	}
	return ""
}

// Port is a port that must be free.
type Port struct {
	Number   int
	Protocol string // "tcp" or "udp"
	For      string // "kube-apiserver"
	// Redirected is true if no program of the cluster listens on the port: the node redirects its
	// packets to a pod. CRI-O holds such ports open.
	Redirected bool
}
