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
		Short: "List the bundles of this host's store, or sign a receipt of what they hold",
		Long: `Lists the bundles of this host's store. With --receipt FILE it writes what they
hold, signed by the registry's authority, for airgap bundle --delta-from: the next
bundle leaves that out. The receipt holds names, sizes and digests, and no secret.`,
		Example: "  airgap registry status --receipt /media/stick/bank.receipt",
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
	placeFlags(cmd, &p)
	cmd.Flags().StringVar(&receipt, "receipt", "", "file to write, and sign, what the bundles hold to")
	cmd.Flags().StringVar(&pki, "pki", site.PKIDir, "directory of the registry's authority, ca.crt and ca.key")
	return cmd
}
