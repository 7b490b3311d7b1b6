package main

import (
	"os"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/e2e/netfaults"
)

// netfaultsCommand needs no server of the lab and no upstream.
func netfaultsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "netfaults [NAME...]",
		Short: "Break networks between hosts, and check that airgap netprobe names each fault; NAME: a part of a fault's name",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := os.MkdirTemp("", "airgap-netfaults-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			return netfaults.Run(cmd.Context(), program, dir, cmd.OutOrStdout(), args...)
		},
	}
}
