package hostlinks

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// limit has the two values that a counter must exceed in each interval: a number, and a share of the packets.
type limit struct {
	least int64
	share float64
}

// Limits. Ethernet allows one bit error in 10^12, which damages one large frame in 10^8: the limit for
// damaged frames is a hundred times that. For other losses it is a share that slows down TCP.
func damaged() limit  { return limit{10, 1e-6} }
func lost() limit     { return limit{100, 1e-3} }
func flapping() limit { return limit{2, 0} }
func invalid() limit  { return limit{3000, 1e-2} }

// Fill of the connection tracking table, in percent.
const (
	mostFull   = 80
	nearlyFull = 95
)

// exceeded returns the growth of a counter in each interval as text, or "" if one is within the limit.
func exceeded[T any](grown []T, l limit, of func(T) (n, packets int64)) string {
	const intervals = 2
	if len(grown) != intervals {
		return ""
	}
	var numbers []string
	for _, g := range grown {
		n, packets := of(g)
		if n < l.least || float64(n) < l.share*float64(packets) {
			return ""
		}
		numbers = append(numbers, fmt.Sprint(n)+shareOf(n, packets))
	}
	return strings.Join(numbers, " and ") + " in the last two intervals of 5 minutes"
}

// shareOf returns " (0.25 %)", or nothing if the packets were not counted. A driver may count errors that are no packets.
func shareOf(n, packets int64) string {
	switch percent := 100 * float64(n) / float64(packets); {
	case packets <= 0:
		return ""
	case percent < 0.01:
		return " (less than 0.01 %)"
	default:
		return fmt.Sprintf(" (%.2f %%)", min(100, percent))
	}
}

func interfaceFindings(host string, i nodereport.Interface) []result.Finding {
	var all []result.Finding
	add := func(saw, want, fix string) {
		all = append(all, result.Finding{Object: i.Name, Saw: saw, Want: want, Fix: "on " + host + ": ethtool " + i.Name + "; " + fix})
	}
	if i.Duplex == "half" && i.Speed > 0 {
		add(fmt.Sprintf("%d Mbit/s, half duplex", i.Speed), "full duplex", "ask the network team to use automatic negotiation on the switch port, as on the host; check the cable")
	}
	type counters = nodereport.LinkCounters
	counts := func(l limit, of func(c counters) (n, packets int64)) string { return exceeded(i.Grown, l, of) }
	statistics := "ethtool -S " + i.Name + " | grep -iE 'err|crc|drop|miss'; "
	if saw := counts(damaged(), func(c counters) (int64, int64) { return c.CRC + c.Frame, c.Received }); saw != "" {
		add("received frames that are damaged (CRC, alignment): "+saw, "no damaged frames",
			statistics+"ask the network team to replace the cable, then the transceivers on both sides, and to compare the counters of the switch port")
	}
	if saw := counts(lost(), func(c counters) (int64, int64) {
		return c.ReceiveErrors - c.CRC - c.Frame - c.ReceiveMissed, c.Received
	}); saw != "" {
		add("received frames with other errors: "+saw, "no errors",
			statistics+"compare the MTU with the switch port; update the driver and firmware of the card; ask the network team for the counters of the switch port")
	}
	if saw := counts(lost(), func(c counters) (int64, int64) { return c.ReceiveMissed, c.Received }); saw != "" {
		add("frames dropped because the receive ring was full: "+saw, "no dropped frames",
			statistics+"a task of the hosts team: raise the ring size (ethtool -g and -G "+i.Name+"), and check that irqbalance runs and no CPU is busy with interrupts alone")
	}
	if saw := counts(lost(), func(c counters) (int64, int64) { return c.SendErrors + c.SendDropped, c.Sent }); saw != "" {
		add("packets that could not be sent: "+saw, "no send errors", statistics+"update the driver and firmware of the card; ask the network team to check the cable and the switch port")
	}
	if saw := counts(flapping(), func(c counters) (int64, int64) { return c.CarrierChanges, 0 }); saw != "" {
		add("the carrier is lost and comes back, changes: "+saw, "a stable carrier",
			"journalctl -k | grep "+i.Name+"; ask the network team to check the cable, the transceivers and the log of the switch port")
	}
	return all
}

func conntrackFindings(host string, c nodereport.Conntrack) []result.Finding {
	var all []result.Finding
	add := func(saw, want, fix string) {
		all = append(all, result.Finding{Object: "connection tracking", Saw: saw, Want: want, Fix: "on " + host + ": " + fix})
	}
	const smaller = "find the clients with most connections: conntrack -L | grep -o 'src=[^ ]*' | sort | uniq -c | sort -n | tail; " +
		"if the load is normal, raise conntrack.maxPerCore in the ConfigMap kube-system/kube-proxy, then kubectl -n kube-system rollout restart daemonset kube-proxy"
	percent := 0.0
	if c.Max > 0 {
		percent = 100 * float64(c.Count) / float64(c.Max)
	}
	switch removed, dropped := whileFull(c, percent); {
	case removed > 0 || dropped > 0:
		add(fmt.Sprintf("the table was full in the last two intervals of 5 minutes: %d connections removed for new ones, %d packets dropped; now %d of %d connections", removed, dropped, c.Count, c.Max),
			"no lost connections", smaller)
	case percent > mostFull:
		add(fmt.Sprintf("%.0f %% full: %d of %d connections", percent, c.Count, c.Max), fmt.Sprintf("at most %d %%", mostFull), smaller)
	}
	if saw := exceeded(c.Grown, invalid(), func(g nodereport.ConntrackCounters) (int64, int64) {
		if g.Received <= 0 {
			return 0, 0
		}
		return g.Invalid, g.Received
	}); saw != "" {
		add("packets that belong to no connection (INVALID): "+saw, fmt.Sprintf("less than %.0f %%", 100*invalid().share),
			"conntrack -S; ask the network team whether both directions between two hosts pass the same stateful firewall, and for its idle timeout: "+
				"packets on another path, or after the timeout, are INVALID")
	}
	return all
}

// whileFull returns the connections and packets that a full table lost. Packets are also dropped for other reasons,
// so these count only if the table is nearly full.
func whileFull(c nodereport.Conntrack, percent float64) (removed, dropped int64) {
	for _, g := range c.Grown[:min(len(c.Grown), maxJudged)] {
		removed += max(0, g.EarlyDrop)
		dropped += max(0, g.Drop)
	}
	if removed <= 0 && percent < nearlyFull {
		return 0, 0
	}
	return max(0, removed), max(0, dropped)
}
