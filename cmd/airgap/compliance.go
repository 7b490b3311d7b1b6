package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/compliance"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/kubeadm"
)

func complianceCommand(a *app) *cobra.Command {
	var keys []string
	cmd := &cobra.Command{
		Use:   "compliance",
		Short: "Compare this server with the compliance baseline",
		Long: `Reads back what this server effectively has of the compliance baseline: arguments
of the programs that run, what the files say that these name, the kubelet's
configuration as the kubelet itself reports it, modes of files. The numbers
are those of the ` + kubeadm.Benchmark + `. A value that airgap.yaml
chooses is shown as chosen, one that could not be read as unknown. Nothing is
changed.

Exit code 4 when something differs from both, or is unknown.`,
		Example: "  airgap compliance\n  airgap compliance --output json > $(hostname).json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := compliance.Read(cmd.Context(), keys)
			if err := a.finish(found, err); err != nil || found.Holds() {
				return err
			}
			return &coded{exitcode.Verify, errShown}
		},
	}
	keyFlags(cmd, &keys)
	return cmd
}
