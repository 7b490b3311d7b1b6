package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/internal/advice"
)

func registryImportCommand(a *app) *cobra.Command {
	var o store.ImportOptions
	cmd := &cobra.Command{
		Use:   "import DIR | --from ADDRESS:PORT [NAME]",
		Short: "Copy a bundle into this host's store, or repair it there",
		Long: `Copies a bundle into this host's store, verifying while copying. Interrupted, it goes
on where it stopped. A delta is refused while something that it leaves out is not
there. A bundle that the store has already is read and verified, and what is damaged
is written anew; the registry gives it out at once.

With --from the bytes come from another registry of the cluster instead of a stick:
the bundle called NAME with what it rests on, or all that are served there.

The registry is restarted when a bundle is new, and serves it.`,
		Example: "  airgap registry import /media/stick/bank\n  airgap registry import --from 10.0.0.2:5000",
		Args: func(_ *cobra.Command, args []string) error {
			if o.From == "" && len(args) != 1 || len(args) > 1 || o.From != "" && o.InPlace {
				return advice.Usagef("airgap registry import: give the bundle's directory, which may be served --in-place; or --from ADDRESS:PORT and at most one name")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Bundle = args[0]
			}
			o.Console = a.terminal()
			done, err := store.Import(cmd.Context(), o)
			return a.finishPart(done, done != nil, err)
		},
	}
	placeFlags(cmd, &o.Place)
	cmd.Flags().BoolVar(&o.InPlace, "in-place", false, "serve the bundle from DIR instead of copying it; importing it again without this flag makes a copy")
	cmd.Flags().StringVar(&o.From, "from", "", "another registry of this cluster")
	cmd.Flags().StringVar(&o.PKI, "pki", site.PKIDir, "directory of the registries' authority, ca.crt")
	return cmd
}
