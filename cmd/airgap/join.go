package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/join"
)

const joinLong = `Join this server to the cluster with the registry at ADDRESS:PORT. airgap install prints
the command. All files come from that registry and are checked against the signed index.
The server requires only airgap.rpm. airgap.yaml decides whether the server becomes a
worker or another control-plane host. A control-plane host also serves a registry.

A join token is valid for one node of this cluster, once, for two hours. The command reads
it from a prompt, from standard input or from --token-file. It is never on the command
line, where every user of this host could read it.

--new-token --all-missing prints the command and a new token for each node that has not
joined: one sheet for each rack, to give to the people who go there. Earlier tokens of these
nodes no longer work. A host that is joining keeps its token.

At a terminal the command runs in a unit of systemd, and goes on when the login session
ends. Run the same command again to follow it.

A replacement for a dead host, with the same name and address, joins in the same way. For
a control-plane host, --new-token first removes the etcd member of the dead host. While the
old host answers, and for about a minute afterwards, no join token is created.`

func joinCommand(a *app) *cobra.Command {
	var o join.Options
	var tokens newTokens
	dryRun, index := false, ""
	cmd := &cobra.Command{
		Use:     "join ADDRESS:PORT --ca-hash sha256:…",
		Short:   "Join this server to the cluster",
		Long:    joinLong,
		Example: "  airgap join 10.0.0.11:5000 --ca-hash sha256:1f6b…\n  airgap join --new-token --node node4   # on a control-plane host: the command, and a new join token\n  airgap join --new-token --all-missing   # the same for all nodes that have not joined",
		Args: func(cmd *cobra.Command, args []string) error {
			return tokens.args(cmd, args, o.Node, dryRun, index != "")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if tokens.one {
				return tokens.print(cmd.Context(), a, o)
			}
			o.Console = a.terminal()
			if index != "" {
				return a.showDryRun(join.DryRunByIndex(cmd.Context(), o, index))
			}
			o.Addr = args[0]
			if dryRun {
				return a.showDryRun(join.DryRun(cmd.Context(), o))
			}
			return a.finish(join.Run(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show the changes; requires no join token")
	cmd.Flags().StringVar(&index, "index", "", "with --dry-run: directory with the signed index, before the registry serves the bundle")
	_ = cmd.RegisterFlagCompletionFunc("index", folders) // fails only for unknown flags
	cmd.Flags().StringVar(&o.CAHash, "ca-hash", "", "SHA-256 of the registry CA, as airgap install prints it")
	cmd.Flags().StringVar(&o.TokenFile, "token-file", "", "file with the join token; default: prompt, or standard input if it is not a terminal")
	cmd.Flags().StringSliceVar(&o.Skip, "skip", nil, "IDs of preflight checks to skip")
	cmd.Flags().StringVar(&o.Node, "node", "", "name of this host in airgap.yaml; default: by its addresses. With --new-token: the node to join; default: the only node that has not joined")
	tokens.flags(cmd)
	renamed(cmd, a.stderr, "new-code", "new-token")
	renamed(cmd, a.stderr, "code-file", "token-file")
	return cmd
}
