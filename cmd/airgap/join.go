package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/internal/advice"
)

const joinLong = `Joins this server to the cluster whose registry is at ADDRESS:PORT; airgap install
prints the line. Everything comes from that registry, checked against the signed
index; the server needs airgap.rpm and nothing else. airgap.yaml says whether it
becomes a worker or a further control-plane host, which serves a registry as well.

The code lets the server of one node in, once, within two hours, and only into the
cluster that it is of. It is read from a prompt, from
standard input or from --code-file, never from the command line, where every user of
this host could read it.

A machine that takes a dead host's place, with its name and address, joins in the same
way. For a control-plane host, making the code takes what the dead one left in etcd
out of it first; while that one answers, and for about a minute after, no code is made.`

func joinCommand(a *app) *cobra.Command {
	var o join.Options
	var newCode, dryRun bool
	cmd := &cobra.Command{
		Use:     "join ADDRESS:PORT --ca-hash sha256:…",
		Short:   "Make this server a node of the cluster",
		Long:    joinLong,
		Example: "  airgap join 10.0.0.11:5000 --ca-hash sha256:1f6b…\n  airgap join --new-code --node node4   # on a control-plane host: the line, and a fresh code",
		Args: func(cmd *cobra.Command, args []string) error {
			if newCode && dryRun {
				return advice.Usagef("airgap join: --new-code makes a code, and --dry-run changes nothing: one or the other")
			}
			if newCode {
				return noArgs(cmd, args)
			}
			return oneArg("the registry's ADDRESS:PORT")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if newCode {
				return a.finish(join.CodeFor(cmd.Context(), o.Keys, o.Node, a.terminal()))
			}
			o.Addr, o.Console = args[0], a.terminal()
			if dryRun {
				return a.showDryRun(join.Rehearse(cmd.Context(), o))
			}
			return a.finish(join.Run(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would change; asks for no code")
	cmd.Flags().StringVar(&o.CAHash, "ca-hash", "", "SHA-256 of the registry's authority, as airgap install prints it")
	cmd.Flags().StringVar(&o.CodeFile, "code-file", "", "file with the one-time code; default: prompt, or standard input when it is not a terminal")
	cmd.Flags().StringSliceVar(&o.Skip, "skip", nil, "preflight checks to leave out, by id")
	cmd.Flags().StringVar(&o.Node, "node", "", "which node of airgap.yaml this host is; default: by its addresses. With --new-code: which node is to join; default: the only one that has not")
	cmd.Flags().BoolVar(&newCode, "new-code", false, "on a control-plane host: print the line and a fresh code")
	return cmd
}
