package verify

import (
	"fmt"
	"time"

	"airgap.dev/airgap/verify/nodereport"
)

func clocks() rule {
	return rule{
		id: "clocks", title: "The hosts' clocks agree with this computer's", watches: []kind{leases, nodes}, every: time.Second,
		judge: judgeClocks,
	}
}

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
		if !known || len(h.recent) < 2 || h.ahead <= aheadAtMost && h.ahead >= -2*aheadAtMost {
			continue
		}
		findings = append(findings, Finding{
			Object: "Node " + node.Name, Saw: "its clock is " + offset(h.ahead) + " this computer's",
			Want: fmt.Sprintf("at most %s apart", aheadAtMost), Fix: clockFix(node.Name),
		})
	}
	return findings
}

func timeSynchronized() rule {
	return reported("time-sync", "Clocks follow a time server", func(host string, r nodereport.Report) []Finding {
		if r.Clock == nil || r.Clock.Synchronized {
			return nil
		}
		return []Finding{{Object: "Node " + host, Saw: "its clock follows no time server", Want: "synchronized", Fix: clockFix(host)}}
	})
}

func clockFix(host string) string { return "on " + host + ": timedatectl; chronyc -n tracking" }

func offset(ahead time.Duration) string {
	if ahead < 0 {
		return (-ahead).Round(time.Second).String() + " behind"
	}
	return ahead.Round(time.Second).String() + " ahead of"
}
