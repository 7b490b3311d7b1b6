package verify

import (
	"fmt"
	"strings"
	"time"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/nodereport"
)

// Free shares of a file system that are required, in percent. Below them, the kubelet deletes
// images and evicts pods (its defaults imagefs.available and nodefs.inodesFree). A healthy node may
// come close to them, because it collects old images only then.
const (
	leastFree   = 15
	leastInodes = 5
)

func diskSpace() rule {
	return rule{
		id: "disk-space", title: "File systems have enough free space", watches: []kind{nodeReports, nodes}, every: time.Second, judge: judgeDisks,
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
					Want: fmt.Sprintf("at least %d %% free, and at least %d %% of the inodes", leastFree, leastInodes),
					Fix:  fmt.Sprintf("on %s: find the large directories: du -xhd2 %s | sort -h; delete files, or extend the file system", r.name, d.Path),
				})
			}
		}
	}
	return findings
}

// diskTrouble counts like the kubelet, without the blocks that are reserved for root.
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
