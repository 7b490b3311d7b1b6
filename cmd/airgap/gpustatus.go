package main

import (
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/gpustatus"
	"airgap.dev/airgap/internal/advice"
)

func gpuCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gpu",
		Short: "This server's GPUs",
		Long: `airgap gpu status shows the cards of this server and what is wrong with them. airgap
bundle decides their driver, and airgap install brings it, with all that containers
need to use a card; airgap verify judges the cards of all nodes.`,
		Example: "  airgap gpu status",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(gpuStatusCommand(a))
	return gives(cmd, asText)
}

// maxWatch is the helper's.
const maxWatch = time.Hour

func gpuStatusCommand(a *app) *cobra.Command {
	var watch time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show this server's GPUs, by the bus and by NVIDIA's library",
		Long: `Shows the GPUs and NVSwitches on the PCI bus, the driver that is loaded, and
what NVIDIA's library (NVML) says of each card: name, UUID, memory, temperature with
where the card slows itself down and turns itself off, power and its limit, memory
errors, rows of memory that were replaced, parts (MIG), NVLinks. At the end stands
what is wrong, if anything is.

Where the driver is not loaded, root sees what the kernel said of it since the boot.
Errors of the driver (Xid events) of the last day are from the kernel's log, which
root and the group systemd-journal may read. With --watch-xid the library is
listened to first, for those of the time from now on.

Nothing is changed, and no root is needed. A fault is no error of this command: the
exit code is 0. It is 1 where there is no card that containers can have, or where
the library gives no answer; what to do stands beside the reason. airgap verify
judges the cards of all nodes.`,
		Example: "  airgap gpu status\n  airgap gpu status --watch-xid 10s\n  airgap gpu status --output json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch < 0 || watch > maxWatch {
				return advice.Usagef("airgap gpu status: --watch-xid %s: from 0s to %s", watch, maxWatch)
			}
			st, err := gpustatus.Here(cmd.Context(), watch, a.newProgress())
			return a.finishPart(st, st != nil, err)
		},
	}
	cmd.Flags().DurationVar(&watch, "watch-xid", 0, "listen for the driver's errors for this long before the cards are read; at most 1h")
	return cmd
}
