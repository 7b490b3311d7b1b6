package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/join"
)

// membershipCommand is run by airgap install on the other hosts before it changes anything.
func membershipCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "membership", Short: "Print the cluster and the node name of this host", Hidden: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.finish(join.LocalMembership()) },
	}
}
