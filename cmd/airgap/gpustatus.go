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
		Short: "Inspect the GPUs of this server",
		Long: `Inspect the GPUs of this server. airgap gpu status shows the GPUs and their faults. airgap
bundle selects the driver. airgap install installs the driver and everything that
containers need to use a GPU. airgap verify checks the GPUs of all nodes.`,
		Example: "  airgap gpu status",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(gpuStatusCommand(a))
	return withFormats(cmd, asText)
}

// maxWatch is the maximum of airgap-nvml, too.
const maxWatch = time.Hour

func gpuStatusCommand(a *app) *cobra.Command {
	var watch time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the GPUs of this server and their faults",
		Long: `Show the GPUs and NVSwitches on the PCI bus, the loaded driver, and the report of the
NVIDIA library (NVML) for each GPU: name, UUID, memory, temperature with the slowdown and
shutdown temperatures, power and its limit, memory errors, remapped rows, MIG instances,
NVLinks. Faults are listed at the end.

If the driver is not loaded, root sees the kernel messages about it since the boot. Driver
errors (Xid events) of the last 24 hours come from the kernel log, which root and the
group systemd-journal can read. --watch-xid first waits for new Xid events from the
library.

Nothing is changed, and root is not required. The exit code is 0 even if a GPU has a
fault. It is 1 if no GPU is available to containers or the library does not answer; the
error includes the next step. airgap verify checks the GPUs of all nodes.`,
		Example: "  airgap gpu status\n  airgap gpu status --watch-xid 10s\n  airgap gpu status --output json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch < 0 || watch > maxWatch {
				return advice.Usagef("airgap gpu status: --watch-xid %s: expected a duration from 0s to %s", watch, maxWatch)
			}
			st, err := gpustatus.Here(cmd.Context(), watch, a.newProgress())
			return a.finishPart(st, st != nil, err)
		},
	}
	cmd.Flags().DurationVar(&watch, "watch-xid", 0, "time to wait for driver errors before the GPUs are read, at most 1h")
	return cmd
}
