package verify

import (
	"fmt"
	"strings"
	"time"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/nodereport"
)

// Shares of a file system that have to be free, in percent. With less the kubelet deletes images
// and evicts pods (its defaults imagefs.available and nodefs.inodesFree), and up to there a node
// that collects its images' garbage may be at any time.
const (
	leastFree   = 15
	leastInodes = 5
)

func diskSpace() rule {
	return rule{
		id: "disk-space", title: "Every file system of the cluster has room", watches: []kind{nodeReports, nodes}, every: time.Second, judge: judgeDisks,
		expects: func(v view) expectation { return v.expectPart(disksPart()) },
	}
}

func disksPart() part {
	return part{name: "disks", in: func(r nodereport.Report) bool { return len(r.Disks) > 0 }, newer: true}
}

func judgeDisks(v view) []Finding {
	var findings []Finding
	for _, r := range v.reportsWith(disksPart()) {
		for _, d := range r.report.Disks {
			if saw := diskTrouble(d); saw != "" {
				findings = append(findings, Finding{
					Object: "Node " + r.name + ", " + d.Path, Saw: saw + " (" + strings.Join(d.Uses, ", ") + ")",
					Want: fmt.Sprintf("%d %% free, and %d %% of the inodes", leastFree, leastInodes),
					Fix:  fmt.Sprintf("on %s: du -xhd2 %s | sort -h shows what takes the room: delete it, or grow the file system", r.name, d.Path),
				})
			}
		}
	}
	return findings
}

// diskTrouble counts as the kubelet does, without what is kept for root.
func diskTrouble(d nodereport.Disk) string {
	percent := func(free, all int64) int64 { return int64(float64(free) / float64(all) * 100) }
	switch {
	case d.Size > 0 && percent(d.Free, d.Size) < leastFree:
		return fmt.Sprintf("%d %% free, %s of %s", percent(d.Free, d.Size), ui.Size(d.Free), ui.Size(d.Size))
	case d.Inodes > 0 && percent(d.InodesFree, d.Inodes) < leastInodes:
		return fmt.Sprintf("%d %% of its inodes free", percent(d.InodesFree, d.Inodes))
	}
	return ""
}
