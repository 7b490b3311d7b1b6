package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
)

func registryCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "Manage the registry that serves bundles to the cluster",
		Long: `Manage the registry of this host. It serves the bundles in ` + site.StoreDir + `
in place: images with their upstream names, RPMs for dnf, files for joining hosts. It
verifies every byte at every read.`,
		Example: "  airgap registry status\n  airgap registry import /mnt/stick/bank\n  airgap registry prune --dry-run",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(registryServeCommand(a), registryStatusCommand(a), registryImportCommand(a), registryPruneCommand(a), registryGarbageCommand(a), registryPasswdCommand(a), registryRenewCommand(a))
	return withFormats(cmd, asText)
}

// storeFlags adds the flags that the commands of the registry share.
func storeFlags(cmd *cobra.Command, p *store.Place) {
	cmd.Flags().StringVar(&p.Dir, "store", site.StoreDir, "directory of the bundles")
	keyFlags(cmd, &p.Keys)
}
