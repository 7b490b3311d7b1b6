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
		Long: `Compare the effective settings of this server with the compliance baseline: arguments of
running programs, the files in these arguments, the configuration that the kubelet
reports, and file modes. Nothing is changed.

The numbers refer to the ` + kubeadm.Benchmark + `. A value from airgap.yaml is shown as
chosen. A value that cannot be read is shown as unknown.

The exit code is 4 if a value differs from both the baseline and airgap.yaml, or is
unknown.`,
		Example: "  airgap compliance\n  airgap compliance --output json > $(hostname).json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := compliance.Read(cmd.Context(), keys)
			if err := a.finish(found, err); err != nil || found.Compliant() {
				return err
			}
			return &exitError{exitcode.Verify, errPrinted}
		},
	}
	keyFlags(cmd, &keys)
	return cmd
}
