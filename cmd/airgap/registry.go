package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
)

func registryCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "The registry that serves bundles to the cluster",
		Long: `Serves the bundles in ` + site.StoreDir + ` in place: images under the names that
upstream gave them, RPMs for dnf, files for joining hosts. Every byte is verified
when it is first read.`,
		Example: "  airgap registry status\n  airgap registry import /media/stick/bank\n  airgap registry prune --dry-run",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(registryServeCommand(a), registryStatusCommand(a), registryImportCommand(a), registryPruneCommand(a), registryPasswdCommand(a), registryRenewCommand(a))
	return gives(cmd, asText)
}

// placeFlags are shared by the registry's commands.
func placeFlags(cmd *cobra.Command, p *store.Place) {
	cmd.Flags().StringVar(&p.Dir, "store", site.StoreDir, "directory of the bundles")
	keyFlags(cmd, &p.Keys)
}
