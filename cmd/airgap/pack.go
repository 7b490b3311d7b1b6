package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/pieces"
	"airgap.dev/airgap/internal/advice"
)

const packLong = `Write the bundle in DIR as pieces to OUT, for a gate, a portal or a data diode that accepts
only small files or certain extensions. airgap unpack puts them together. Each piece has
the list of all files, its number and its SHA-256 in itself: the gate may rename pieces,
send them in any order or several times, and pack them again as ZIP or tar files.

The extensions .zip and .tar give valid ZIP and tar files with one file, which is not
compressed: a gate that compares content and extension accepts them. .bin, .dat, .img,
.raw, .data, .part, .piece and digits give the piece as it is. Other extensions are
refused, because a gate expects their format.

--only writes the pieces that airgap unpack reports as missing. It needs the same --size
and --parity as before. --parity N adds N pieces for each group of at most 128: any N
pieces of a group can be lost on the way, for a diode without a way back. It reads the
bundle a second time.

The files are compared with SHA256SUMS. The same command continues after an interruption;
complete pieces are verified and kept.`

func packCommand(a *app) *cobra.Command {
	var o pieces.PackOptions
	cmd := &cobra.Command{
		Use:   "pack DIR OUT",
		Short: "Split a bundle into pieces that pass a gate",
		Long:  packLong,
		Example: "  airgap pack --size 50MiB --ext .zip /mnt/stick/bank /mnt/portal\n" +
			"  airgap pack --size 50MiB --ext .zip --only 3,7-9 /mnt/stick/bank /mnt/portal\n" +
			"  airgap pack --size 1900MiB --ext .bin --parity 4 ./bank ./diode",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return advice.Usagef("airgap pack: expected the directory of the bundle and the directory for the pieces")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Out, o.Progress = args[0], args[1], a.newProgress()
			return a.finish(pieces.Pack(cmd.Context(), o))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Size, "size", "1900MiB", "maximum size of a piece, from 10MiB to 4095MiB")
	f.StringVar(&o.Ext, "ext", ".zip", "extension of the pieces")
	f.StringVar(&o.Only, "only", "", "numbers of the pieces to write, such as 3,7-9, or the file of airgap unpack --missing; default: all")
	f.IntVar(&o.Parity, "parity", 0, "parity pieces for each group of at most 128 pieces, at most 64")
	return cmd
}
