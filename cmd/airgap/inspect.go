package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/inspect"
)

func inspectCommand(a *app) *cobra.Command {
	var o inspect.Options
	cmd := &cobra.Command{
		Use:   "inspect DIR",
		Short: "Show the contents of a bundle and check its integrity",
		Long: `Check the signature, the index, the sizes of all parts and the files next to them, and
print the contents. --full reads and compares every byte. For a delta it also shows the
files that must be in the store of the servers already; --list lists each of them.
Documentation that is missing or altered is listed, and is no error: no command uses it.

--hashes prints only the SHA-256 of each image layer, package, file and chart in the parts,
as sha256sum -c reads it: compare it after tar has unpacked the parts. With airgap.lock in
place of the directory, it prints the same list before anything is downloaded. Not known
then are airgap's own files: the parts, airgap.rpm, the package metadata, the report, and
SHA256SUMS with its signature.

--require-key selects the accepted key: the public key file, or its fingerprint. Get the
fingerprint from the signer, not from the USB drive.`,
		Example: "  airgap inspect /mnt/stick/bank --full\n  airgap inspect airgap.lock --hashes > hashes.txt\n  airgap inspect ./bank --list --output json | jq -r '.lock.images[].name'",
		Args:    oneArg("the directory of the bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Progress = args[0], a.newProgress()
			return a.finish(inspect.Bundle(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().BoolVar(&o.Full, "full", false, "read and verify every byte")
	cmd.Flags().BoolVar(&o.Hashes, "hashes", false, "print only the hashes of the contents, for sha256sum -c; DIR can be airgap.lock")
	cmd.Flags().BoolVar(&o.List, "list", false, "list every image, package and file")
	return cmd
}
