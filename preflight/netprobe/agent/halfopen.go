package agent

import (
	"bufio"
	"context"
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// halfOpenEvery is less than the second for which the kernel keeps a half-open connection if its own
// packet filter drops the answer.
const halfOpenEvery = 250 * time.Millisecond

// watchHalfOpen reads the kernel's list of connections after each SYN that has no answer.
func (a *agent) watchHalfOpen(ctx context.Context) {
	ticker := time.NewTicker(halfOpenEvery)
	defer ticker.Stop()
	for before := 0; ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if now := a.report.unanswered(); now != before {
			before = now
			a.recordHalfOpen()
		}
	}
}

// unanswered is the number of SYNs without an answer.
func (r *record) unanswered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, o := range r.Observations {
		if o.Kind != netprobe.TCP || o.Layer != netprobe.AtInterface {
			continue
		}
		_, answered := r.seen[netprobe.Observation{From: o.From, Kind: netprobe.TCP, Port: o.Port, Layer: netprobe.AnswerLeft}]
		_, refused := r.seen[netprobe.Observation{From: o.From, Kind: netprobe.TCP, Port: o.Port, Layer: netprobe.RefusalLeft}]
		if !answered && !refused {
			n += o.Count
		}
	}
	return n
}

// recordHalfOpen records the connections of hosts of the plan that wait for the end of the handshake.
// It reads a file, because a socket diagnosis can load a kernel module.
func (a *agent) recordHalfOpen() {
	const mostOfList = 16 << 20
	file, err := os.Open("/proc/thread-self/net/tcp") // the main thread can be in the namespace of a VXLAN
	if err != nil {
		return // without it a blocked answer looks like a blocked SYN
	}
	defer file.Close()
	for _, o := range a.plan.halfOpen(io.LimitReader(file, mostOfList)) {
		a.report.saw(o)
	}
}

// halfOpen returns the observations in a list of the format of /proc/net/tcp.
func (p hostPlan) halfOpen(list io.Reader) []netprobe.Observation {
	const synReceived = "03"
	var found []netprobe.Observation
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != synReceived {
			continue
		}
		local, okLocal := endOf(fields[1])
		remote, okRemote := endOf(fields[2])
		host, known := p.ByAddress(remote.Addr())
		if okLocal && okRemote && known && local.Addr() == p.Own().Address && p.hasTCP(int(local.Port())) {
			found = append(found, netprobe.Observation{From: host, Kind: netprobe.TCP, Port: int(local.Port()), Layer: netprobe.HalfOpen})
		}
	}
	return found
}

// endOf parses an end of a connection, such as 0100007F:1F90 for 127.0.0.1:8080. All platforms of
// airgap are little-endian.
func endOf(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(address)
	number, errPort := strconv.ParseUint(port, 16, 16)
	if err != nil || errPort != nil || len(b) != 4 {
		return netip.AddrPort{}, false
	}
	slices.Reverse(b)
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b)), uint16(number)), true
}
