package verify

import (
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

func clocks() rule {
	return rule{
		id: "clocks", title: "Host clocks agree with the clock of this computer", watches: []kind{leases, nodes}, every: time.Second,
		judge: judgeClocks, expects: expectClocks,
	}
}

// minBeats is how many renewals are needed to compare a clock: a single one may have been
// delayed.
const minBeats = 2

// maxClockOffset is the largest difference between clocks, the same as in the preflight check
// time-sync.
const maxClockOffset = 2 * time.Second

// judgeClocks compares the time in a kubelet's Lease with the time at which the renewal was
// received. A delay makes a clock look behind, so the limit on that side is twice as large.
func judgeClocks(v view) []Finding {
	var findings []Finding
	for _, node := range v.allNodes() {
		h, known := v.heartbeats.last(leaseOf(node.Name))
		if !known || len(h.recent) < minBeats || h.ahead <= maxClockOffset && h.ahead >= -2*maxClockOffset {
			continue
		}
		findings = append(findings, Finding{
			Object: "Node " + node.Name, Saw: "its clock is " + offset(h.ahead) + " this computer's",
			Want: fmt.Sprintf("at most %s apart", maxClockOffset), Fix: clockFix(node.Name),
		})
	}
	return findings
}

// expectClocks reports "too soon to tell" until each Lease was renewed often enough. No run
// waits for that.
func expectClocks(v view) expectation {
	e := joined(v)
	var silent []string
	for _, node := range v.allNodes() {
		if h, _ := v.heartbeats.last(leaseOf(node.Name)); len(h.recent) < minBeats && !slices.Contains(away(v), node.Name) {
			silent = append(silent, node.Name)
		}
	}
	if len(silent) > 0 {
		slices.Sort(silent)
		e.nothing = "too soon to tell: fewer than two lease renewals received from " + result.Abbreviate(silent)
	}
	return e
}

func timeSynchronized() rule {
	clock := part{name: "clock", in: func(r nodereport.Report) bool { return r.Clock != nil }}
	return reported("time-sync", "Clocks are synchronized with a time server", clock, func(host string, r nodereport.Report) []Finding {
		if r.Clock.Synchronized {
			return nil
		}
		return []Finding{{
			Object: "Node " + host, Saw: "its clock is not synchronized with a time server", Want: "synchronized",
			Fix: clockFix(host) + "; set the site's time servers and rtcsync in /etc/chrony.conf",
		}}
	})
}

func clockFix(host string) string { return "on " + host + ": timedatectl; chronyc -n tracking" }

func offset(ahead time.Duration) string {
	if ahead < 0 {
		return (-ahead).Round(time.Second).String() + " behind"
	}
	return ahead.Round(time.Second).String() + " ahead of"
}
