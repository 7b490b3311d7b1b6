package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/program"
)

func signCommand(a *app) *cobra.Command {
	var o program.CosignOptions
	cmd := &cobra.Command{
		Use:   "sign DIR",
		Short: "Add the signature of another person to a bundle",
		Long: `Verify every byte of a bundle, and add a signature with another key: the second person of
a two-person rule. The signature is in SHA256SUMS.cosigned, next to the bundle's own
signature, which stays. The servers accept the bundle if as many different keys signed it
as approval.keys in airgap.yaml or --require-keys asks for, and if they trust these keys.

The key is the one in --keys, or the one of --sign-key. The private key can be in an HSM or
on another host: airgap docs signing. --require-key selects the key that must have signed
the bundle before.`,
		Example: "  airgap sign /mnt/stick/bank --sign-key second.key --require-key builder.pub\n  airgap inspect /mnt/stick/bank --require-keys 2 --require-key keys/",
		Args:    oneArg("the directory of the bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Progress = args[0], a.newProgress()
			return a.finish(program.Cosign(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Required)
	cosigningFlags(cmd.Flags(), &o.Keys)
	return cmd
}
