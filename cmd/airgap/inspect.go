package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/inspect"
)

func inspectCommand(a *app) *cobra.Command {
	var o inspect.Options
	cmd := &cobra.Command{
		Use:   "inspect DIR",
		Short: "Show what a bundle holds and whether it is whole",
		Long: `Checks the signature, the index and the sizes of all parts, and prints what is
inside. With --full every byte is read and compared. Of a delta it says what has to be
in the servers' store already; --list has every such file.

--require-key says whose signature it must be: the key's file, or its fingerprint as
whoever signed the bundle gave it to you on another way than the stick.`,
		Example: "  airgap inspect /media/stick/bank --full\n  airgap inspect ./bank --list --output json | jq -r '.lock.images[].name'",
		Args:    oneArg("the bundle's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Progress = args[0], a.newProgress()
			return a.finish(inspect.Bundle(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().BoolVar(&o.Full, "full", false, "read and verify every byte")
	cmd.Flags().BoolVar(&o.List, "list", false, "list every image, package and file")
	return cmd
}
