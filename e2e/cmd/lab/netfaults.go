package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/netfaults"
	"airgap.dev/airgap/e2e/podfaults"
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

// podfaultsCommand needs the programs of the upstream, and no server of the lab.
func podfaultsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "podfaults",
		Short: "Break the network between the nodes of a cluster, and check that airgap verify names each fault",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, errCache := lab.CacheDir()
			path, errPath := filepath.Abs(program)
			dir, err := os.MkdirTemp("", "airgap-podfaults-")
			if err := errors.Join(errCache, errPath, err); err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			programs := podfaults.Programs{Airgap: path, Probe: filepath.Join(filepath.Dir(path), "airgap-probe")}
			return podfaults.Run(cmd.Context(), programs, filepath.Join(cache, "bin"), dir, cmd.OutOrStdout())
		},
	}
}
