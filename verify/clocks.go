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
		id: "clocks", title: "The hosts' clocks agree with this computer's", watches: []kind{leases, nodes}, every: time.Second,
		judge: judgeClocks, expects: expectClocks,
	}
}

// beatsToTell is how many renewals a kubelet's clock is judged by: one alone may
// have been long on its way.
const beatsToTell = 2

// aheadAtMost is by how much a host's clock may differ, as for preflight's
// check time-sync.
const aheadAtMost = 2 * time.Second

// judgeClocks compares the time that a kubelet writes into its lease with when
// it came in here. A slow way makes a clock look behind, so that side has more
// room.
func judgeClocks(v view) []Finding {
	var findings []Finding
	for _, node := range v.allNodes() {
		h, known := v.heard.last(leaseOf(node.Name))
		if !known || len(h.recent) < beatsToTell || h.ahead <= aheadAtMost && h.ahead >= -2*aheadAtMost {
			continue
		}
		findings = append(findings, Finding{
			Object: "Node " + node.Name, Saw: "its clock is " + offset(h.ahead) + " this computer's",
			Want: fmt.Sprintf("at most %s apart", aheadAtMost), Fix: clockFix(node.Name),
		})
	}
	return findings
}

// expectClocks finds it too soon to tell where leases came in too seldom yet. A run does
// not wait for that.
func expectClocks(v view) expectation {
	e := joined(v)
	var silent []string
	for _, node := range v.allNodes() {
		if h, _ := v.heard.last(leaseOf(node.Name)); len(h.recent) < beatsToTell {
			silent = append(silent, node.Name)
		}
	}
	if len(silent) > 0 {
		slices.Sort(silent)
		e.nothing = "too soon to tell: no two renewals yet of the lease of " + result.Some(silent)
	}
	return e
}

func timeSynchronized() rule {
	clock := part{name: "clock", in: func(r nodereport.Report) bool { return r.Clock != nil }}
	return reported("time-sync", "Clocks follow a time server", clock, func(host string, r nodereport.Report) []Finding {
		if r.Clock.Synchronized {
			return nil
		}
		return []Finding{{Object: "Node " + host, Saw: "its clock follows no time server", Want: "synchronized", Fix: clockFix(host) + "; /etc/chrony.conf has to name the site's time servers, and to say rtcsync"}}
	})
}

func clockFix(host string) string { return "on " + host + ": timedatectl; chronyc -n tracking" }

func offset(ahead time.Duration) string {
	if ahead < 0 {
		return (-ahead).Round(time.Second).String() + " behind"
	}
	return ahead.Round(time.Second).String() + " ahead of"
}
