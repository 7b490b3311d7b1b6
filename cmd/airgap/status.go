package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/status"
)

func statusCommand(a *app) *cobra.Command {
	var keys []string
	var node string
	var all bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what airgap has installed on this server, what has drifted, and what to do next",
		Long: `The first look at a server. Shows the cluster and this server's part in it, the
bundle it was installed from, whether the registry answers and the nodes are ready,
certificates that end within 30 days, the newest backup, and the steps. Steps that
hold are only named; of each other one it says when it ran, and what airgap install
(or the same airgap join) would change to put it right. --steps says so of all. At
the end stands what to do next.

Nothing is changed. Root sees all; other users what they may read.

A drifted step is no error of this command: the exit code is 0, since drift may be
somebody's decision. airgap verify gives a verdict on the cluster.`,
		Example: "  airgap status\n  airgap status --steps\n  airgap status --output json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := status.Read(cmd.Context(), keys, node)
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			s.All = all
			return a.print(s, s.Write)
		},
	}
	keyFlags(cmd, &keys)
	cmd.Flags().StringVar(&node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().BoolVar(&all, "steps", false, "list all steps, also those that hold")
	return cmd
}
