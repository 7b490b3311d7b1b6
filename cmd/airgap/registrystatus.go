package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
)

func registryStatusCommand(a *app) *cobra.Command {
	var p store.Place
	var receipt, pki string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List the bundles in the store of this host, or sign a receipt of their contents",
		Long: `List the bundles in the store of this host.

--receipt FILE writes a receipt of their contents, signed by the registry CA, for airgap
bundle --delta-from. The next bundle leaves these contents out. The receipt contains
names, sizes and digests, and no secrets.`,
		Example: "  airgap registry status --receipt /mnt/stick/bank.receipt",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if receipt != "" {
				written, err := store.Receipt(p, pki, receipt)
				return a.finishPart(written, written != nil, err)
			}
			list, err := store.List(p)
			return a.finishPart(list, list != nil, err)
		},
	}
	storeFlags(cmd, &p)
	cmd.Flags().StringVar(&receipt, "receipt", "", "file for the signed receipt")
	cmd.Flags().StringVar(&pki, "pki", site.PKIDir, "directory with ca.crt and ca.key, the registry CA")
	return cmd
}
