package agent

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/netprobe"
)

// reversePath finds the hosts of which this host's reverse path filter drops the packets. It reads routes only if
// the filter dropped packets during the measurement, and returns nil otherwise.
func reversePath(ctx context.Context, plan hostPlan, before int) *netprobe.ReversePath {
	dropped := reversePathDrops() - before
	ifi, _, err := ownInterface(plan.Own())
	if dropped <= 0 || err != nil {
		return nil
	}
	r := &netprobe.ReversePath{Link: ifi.Name, All: rpFilter("all"), Own: rpFilter(ifi.Name), Dropped: dropped}
	if max(r.All, r.Own) == 0 { // another interface drops packets
		return nil
	}
	loose := max(r.All, r.Own) > 1
	ctx, cancel := context.WithTimeout(ctx, filterTimeout)
	defer cancel()
	for i, h := range plan.Hosts {
		if i == plan.Self {
			continue
		}
		link, err := wayBack(ctx, plan.Own().Address, h.Address)
		if err == nil && link != ifi.Name && (!loose || link == "") {
			r.Ways = append(r.Ways, netprobe.WayBack{To: i, Link: link})
		}
	}
	return r
}

// rpFilter is the mode of an interface; 0 if it is unknown.
func rpFilter(link string) int {
	b, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + link + "/rp_filter")
	if err != nil {
		return 0
	}
	mode, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return mode
}

// wayBack is the interface of the route to another host, for packets of this host's address; "" without a route.
func wayBack(ctx context.Context, own, to netip.Addr) (string, error) {
	out, err := host.Local{}.Run(ctx, host.Cmd{Name: "ip", Args: []string{"-4", "route", "get", to.String(), "from", own.String()}})
	var exit *exec.ExitError
	switch {
	case err == nil:
		return device(string(out)), nil
	case errors.As(err, &exit) && ctx.Err() == nil: // the kernel has no route
		return "", nil
	default:
		return "", err
	}
}

// device is the interface in a route of ip.
func device(route string) string {
	words := strings.Fields(route)
	if i := slices.Index(words, "dev"); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// reversePathDrops is the number of packets that the filter dropped since the start of this network namespace.
func reversePathDrops() int {
	file, err := os.Open("/proc/thread-self/net/netstat") // the main thread can be in the namespace of a VXLAN
	if err != nil {
		return 0
	}
	defer file.Close()
	const most = 1 << 16
	b, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return 0
	}
	return tcpExt(string(b), "IPReversePathFilter")
}

// tcpExt reads a value from the text of /proc/net/netstat: a line with names, and one with their values.
func tcpExt(text, name string) int {
	var names []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] != "TcpExt:":
		case names == nil:
			names = words
		default:
			if i := slices.Index(names, name); i > 0 && i < len(words) {
				n, _ := strconv.Atoi(words[i])
				return n
			}
			return 0
		}
	}
	return 0
}
