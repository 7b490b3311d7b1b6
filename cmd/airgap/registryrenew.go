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
		Short: "Renew the certificate of the registry if it expires within 30 days",
		Long: `Renew the certificate of the registry on this host if it expires within 30 days. The
names stay the same. The registry CA signs it; every control-plane host has the CA key. The
registry uses the new certificate from the next connection.

` + registry.RenewTimer + ` runs this command every day.`,
		Example: "  airgap registry renew\n  airgap registry renew --output json",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.finish(store.RenewCertificate(pki)) },
	}
	cmd.Flags().StringVar(&pki, "pki", site.PKIDir, "directory of the certificates and the CA key")
	return cmd
}
