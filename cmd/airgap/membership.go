package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/join"
)

// membershipCommand is what airgap install asks the other hosts before it changes
// anything.
func membershipCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "membership", Short: "Say whether this host is a node, and of which cluster", Hidden: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.finish(join.MembershipHere()) },
	}
}
