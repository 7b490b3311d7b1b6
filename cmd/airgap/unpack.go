package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/pieces"
	"airgap.dev/airgap/internal/advice"
)

const unpackLong = `Put the pieces of airgap pack together: read the pieces in and below each FROM, and write
the bundle to DIR. Names and order of the pieces do not matter. Duplicates, other files
and pieces of other bundles are ignored and counted, and damaged pieces are named.

While pieces are missing, the command fails and lists them, in a form for a telephone:
the set and ranges of numbers. --missing also writes the list to a file for the sender.
airgap pack --only on the connected host takes both. Run the command again with the new
pieces: DIR keeps the pieces that it has, so those can be removed from the drive, and a
drive can be smaller than the bundle. If there are enough parity pieces, they replace
the missing ones.

At the end every file is read and compared with its SHA-256. This does not prove who
made the bundle: airgap inspect and airgap install check the signature.`

func unpackCommand(a *app) *cobra.Command {
	var o pieces.UnpackOptions
	cmd := &cobra.Command{
		Use:     "unpack FROM… DIR",
		Short:   "Put the pieces of a bundle together behind a gate",
		Long:    unpackLong,
		Example: "  airgap unpack /mnt/portal /srv/bank\n  airgap unpack /mnt/portal /srv/bank --missing missing.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return advice.Usagef("airgap unpack: expected the directories with pieces, and the directory for the bundle")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.From, o.Dir, o.Progress = args[:len(args)-1], args[len(args)-1], a.newProgress()
			done, err := pieces.Unpack(cmd.Context(), o)
			return errors.Join(a.print(done, done.Write), err)
		},
	}
	cmd.Flags().StringVar(&o.Set, "set", "", "set of the pieces, such as 1a2b3c4d, if FROM has several; default: that of the first piece")
	cmd.Flags().StringVar(&o.Missing, "missing", "", "file for the list of missing pieces")
	return cmd
}
