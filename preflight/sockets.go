package preflight

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

// Listener is a socket that waits for others.
type Listener struct {
	Protocol string     `yaml:"protocol" json:"protocol"` // "tcp" or "udp"
	Address  netip.Addr `yaml:"address" json:"address"`
	Port     int        `yaml:"port" json:"port"`
	Process  string     `yaml:"process,omitempty" json:"process,omitempty"` // "" when it may not be seen
}

// readListening reads the kernel's tables, and asks ss for the processes
// behind them, which is only an addition.
func readListening(ctx context.Context, r reader, f *Facts) error {
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := r.optional("proc/net/" + name) // the 6 are absent without IPv6
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

// parseSockets reads /proc/net/tcp and its like. The states are those of TCP:
// 0A listens; an unconnected UDP socket shows as 07.
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
		if !slices.Contains(found, l) { // SO_REUSEPORT gives several alike
			found = append(found, l)
		}
	}
	return found, nil
}

// parseSocketAddress reads 0100007F:1F90: the address in words of 32 bits,
// each with its bytes reversed (little-endian machines), the port plainly.
func parseSocketAddress(text string) (netip.Addr, int, error) {
	hexAddress, hexPort, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(hexAddress)
	if err != nil {
		return netip.Addr{}, 0, err
	}
	if len(raw) != 4 && len(raw) != 16 {
		return netip.Addr{}, 0, errors.New("address of neither 4 nor 16 bytes: " + text)
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	port, err := strconv.ParseUint(hexPort, 16, 16)
	address, _ := netip.AddrFromSlice(raw)
	return address.Unmap(), int(port), err
}

// parseOwners reads ss's lines: protocol, state, two queues, local address,
// peer, users:(("sshd",pid=1,fd=3)).
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

// String is the port as people write it: "6443/tcp".
func (p Port) String() string { return fmt.Sprintf("%d/%s", p.Number, p.Protocol) }

var portsFree = Check{
	ID: "ports-free", Title: "Ports are free", Source: "kubeadm Port",
	Breaks: "A part of the control plane, the kubelet or the registry cannot listen on its port.",
	Needs:  []string{"listening"}, Run: judgePorts,
}

func judgePorts(f *Facts, w *Want) Result {
	if w.Ours {
		return skipped("this host's own cluster uses them")
	}
	var busy, free []string
	for _, p := range w.Ports {
		if holder := f.holder(p); holder != "" {
			busy = append(busy, fmt.Sprintf("%s (%s) is held by %s", p, p.For, holder))
		} else {
			free = append(free, p.String())
		}
	}
	if len(busy) > 0 {
		return Result{Fail, strings.Join(busy, "; "), "free ports", "stop what holds them: ss -lntup"}
	}
	return pass("%s", strings.Join(free, " "))
}

// holder is the process that has the port; airgap itself, whose registry may
// run from an interrupted installation, is not in its own way.
func (f *Facts) holder(p Port) string {
	for _, l := range f.Listening {
		if l.Protocol != p.Protocol || l.Port != p.Number || l.Process == "airgap" {
			continue
		}
		if l.Process == "" {
			return "a process that only root can see"
		}
		return l.Process
	}
	return ""
}
