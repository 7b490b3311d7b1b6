package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/registry"
)

func registryRenewCommand(a *app) *cobra.Command {
	var pki string
	cmd := &cobra.Command{
		Use:   "renew",
		Short: "Renew the registry's certificate when it ends within 30 days; what " + registry.RenewTimer + " runs",
		Long: `Issues the certificate of this host's registry anew when it ends within 30 days, for
the same names, by the authority whose key is on every control-plane host. The
registry serves it from the next connection on. ` + registry.RenewTimer + ` does
this every day.`,
		Example: "  airgap registry renew\n  airgap registry renew --output json",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.finish(store.RenewCertificate(pki)) },
	}
	cmd.Flags().StringVar(&pki, "pki", site.PKIDir, "directory of the certificates and of the authority's key")
	return cmd
}
