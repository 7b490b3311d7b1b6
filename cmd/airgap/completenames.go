package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
)

// nodeNames offers the nodes of airgap.yaml with their addresses: those of the bundle which the
// command is given, else of those that this host has.
func nodeNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	dirs := args
	if f := cmd.Flags().Lookup("bundle"); f != nil && f.Changed {
		dirs = []string{f.Value.String()}
	}
	var names []string
	for _, n := range site.NodesHere(dirs...) {
		names = append(names, cobra.CompletionWithDesc(n.Name, n.Address))
	}
	return only(names...)
}

// storeNames offers the bundles of the store.
func storeNames(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return only(store.Names(cmd.Flag("store").Value.String())...)
}
