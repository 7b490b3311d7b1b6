package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/internal/advice"
)

const importHelp = `Copy a bundle to the store of this host and verify it during the copy. After an
interruption, the next run continues where it stopped. A delta is refused until the store
has every file that it leaves out. If the store has the bundle already, the command
verifies it and replaces damaged files. The registry serves the replaced files at once.

--from copies from another registry of the cluster instead of a USB drive: the bundle NAME
with its bases, or all bundles of that registry.

--set imports a bundle that is on several media, such as DVDs or small drives. Run it once
for each medium, in any order. Each medium has bundle.json, SHA256SUMS, its signatures
SHA256SUMS.*, airgap.pub, and some of the other files. The command lists the files that are
missing. If a second person must sign, one medium with SHA256SUMS.cosigned is enough.

The registry restarts to serve a new bundle.`

func registryImportCommand(a *app) *cobra.Command {
	var o store.ImportOptions
	cmd := &cobra.Command{
		Use:     "import DIR | --from ADDRESS:PORT [NAME]",
		Short:   "Copy a bundle to the store of this host, or repair its copy",
		Long:    importHelp,
		Example: "  airgap registry import /mnt/stick/bank\n  airgap registry import --set /mnt/dvd             # for each medium\n  airgap registry import --from 10.0.0.2:5000",
		Args: func(_ *cobra.Command, args []string) error {
			if o.From == "" && len(args) != 1 || len(args) > 1 || (o.From != "" || o.Set) && o.InPlace || o.From != "" && o.Set {
				return advice.Usagef("airgap registry import: expected the directory of the bundle, which --in-place can serve, or with --set of one medium; or --from ADDRESS:PORT and at most one name")
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
	storeFlags(cmd, &o.Place)
	cmd.Flags().BoolVar(&o.InPlace, "in-place", false, "serve the bundle from DIR instead of copying it; a later import without this flag copies it")
	cmd.Flags().BoolVar(&o.Set, "set", false, "DIR is one medium of several: import the parts that it has")
	cmd.Flags().StringVar(&o.From, "from", "", "ADDRESS:PORT of another registry of this cluster")
	cmd.Flags().StringVar(&o.PKI, "pki", site.PKIDir, "directory with ca.crt, the CA of the registries")
	return cmd
}
