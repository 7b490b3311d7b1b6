package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/registry"
)

// nodeNames offers the nodes of airgap.yaml: that of the bundle which the command
// is given, else of those that this host has.
func nodeNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var dirs []string
	if f := cmd.Flags().Lookup("bundle"); f != nil && f.Changed {
		dirs = append(dirs, f.Value.String())
	} else {
		dirs = append(dirs, args...)
	}
	dirs = append(append(dirs, site.IndexDir), site.StoredBundles(site.StoreDir)...)
	for _, dir := range dirs {
		if names := nodesIn(dir); len(names) > 0 {
			return only(names...)
		}
	}
	return only()
}

// nodesIn are the names and addresses of the nodes of a bundle; none where it is not
// signed with a key that is trusted here.
func nodesIn(dir string) []string {
	t, err := site.TrustedKeys(nil, dir)
	if err != nil {
		return nil
	}
	index, err := bundle.ReadIndex(dir, t.Keys...)
	if err != nil {
		return nil
	}
	c, err := config.ParseStored(bundle.IndexName, []byte(index.Config))
	if err != nil {
		return nil
	}
	var names []string
	for _, n := range c.Nodes {
		names = append(names, cobra.CompletionWithDesc(n.Name, n.Address))
	}
	return names
}

// storeNames offers the bundles of the store.
func storeNames(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names, _ := registry.Store{Dir: cmd.Flag("store").Value.String()}.List() // the command itself says what is wrong with it
	return only(names...)
}
