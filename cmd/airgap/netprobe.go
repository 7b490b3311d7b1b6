package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/preflight/netprobe"
)

func (a *app) netprobe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "netprobe",
		Short: "Measure what the network between the servers lets through",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.netprobeAgent())
	return cmd
}

// netprobeAgent is what measures on each host; whoever started it speaks to it.
func (a *app) netprobeAgent() *cobra.Command {
	return &cobra.Command{
		Use: "agent", Short: "Measure as standard input says", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := mustBeRoot("netprobe"); err != nil {
				return err
			}
			return netprobe.Serve(cmd.Context(), a.stdin, a.stdout)
		},
	}
}
