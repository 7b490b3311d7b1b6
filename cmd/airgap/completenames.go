package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
)

// nodeNames completes the nodes of airgap.yaml with their addresses, from the bundle on the command
// line, or else from the bundles on this host.
func nodeNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	dirs := args
	if f := cmd.Flags().Lookup("bundle"); f != nil && f.Changed {
		dirs = []string{f.Value.String()}
	}
	var names []string
	for _, n := range site.LocalNodes(dirs...) {
		names = append(names, cobra.CompletionWithDesc(n.Name, n.Address))
	}
	return only(names...)
}

// allNodeNames is nodeNames for a command whose arguments are nodes, not bundles.
func allNodeNames(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return nodeNames(cmd, nil, typed)
}

// localNodes returns the nodes of the bundles on this host.
func localNodes() []string {
	var names []string
	for _, n := range site.LocalNodes() {
		names = append(names, cobra.CompletionWithDesc(n.Name, n.Address))
	}
	return names
}

// storeNames completes the bundles in the store.
func storeNames(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return only(store.Names(cmd.Flag("store").Value.String())...)
}
