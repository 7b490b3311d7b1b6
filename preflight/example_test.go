package preflight_test

import (
	"context"
	"fmt"

	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/replay"
)

// A recorded server gives the same results as the server itself.
func Example() {
	host, err := replay.Host([]byte(`
-- fs/proc/swaps --
Filename   Type       Size     Used  Priority
/dev/dm-1  partition  4194300  0     -2
-- fs/proc/1/comm --
systemd
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := facts.Gather(context.Background(), host)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := preflight.Run(context.Background(), found, preflight.Want{}, preflight.Choice{Skip: []string{"time-sync"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		if r.ID == "systemd-init" || r.ID == "swap" || r.ID == "memory" || r.ID == "time-sync" {
			fmt.Printf("%-12s  %-5s  %s\n", r.ID, r.Status, r.Found)
		}
	}
	// Output:
	// systemd-init  pass   systemd
	// memory        error  unknown: open proc/meminfo: file does not exist
	// swap          fail   /dev/dm-1 (4.3 GB)
	// time-sync     skip   skipped on request
}
