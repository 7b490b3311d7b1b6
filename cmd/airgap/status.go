package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/status"
	"airgap.dev/airgap/internal/advice"
)

const statusLong = `Show the cluster and the role of this server, the installed bundle, the state of the
registry and the nodes, certificates that expire within 30 days, the newest backup, and
the steps. Use this command first to diagnose a server. On the first control-plane host it
also shows the hosts that a command left out, which are owed, and absent ones.

For a drifted step it shows the time of the last run and the changes that airgap install
(or the same airgap join) would make. Other steps are only listed; --steps shows the
details of all steps. The next steps for the operator are at the end.

--all-hosts also asks the other hosts of airgap.yaml through SSH. The text has equal hosts
together, the hosts that need attention at the end, and the hosts whose kernel, version,
MTU, resolver, time zone or firmware differs from most others. --limit and --except choose
the other hosts.

Nothing is changed. Root sees everything; other users see the files that they can read.

The exit code is 0 even with drift, because drift can be intended. airgap verify checks
the health of the cluster.`

func statusCommand(a *app) *cobra.Command {
	var keys []string
	var node string
	var all, everywhere bool
	var c choice.Choice
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the installation on this server, its drift, and the next steps",
		Long:    statusLong,
		Example: "  airgap status\n  airgap status --steps\n  airgap status --all-hosts\n  airgap status --output json",
		Args: func(cmd *cobra.Command, args []string) error {
			if !everywhere && (c.Limit != nil || c.Except != nil) {
				return advice.Usagef("%s: --limit and --except require --all-hosts", cmd.CommandPath())
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if everywhere {
				return a.finish(status.ReadAll(cmd.Context(), keys, node, c, a.terminal()))
			}
			s := status.Read(cmd.Context(), keys, node)
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			s.All = all
			return a.print(s, s.Write)
		},
	}
	keyFlags(cmd, &keys)
	cmd.Flags().StringVar(&node, "node", "", "name of this host in airgap.yaml; default: by its addresses")
	cmd.Flags().BoolVar(&all, "steps", false, "show the details of all steps, also without drift")
	cmd.Flags().BoolVar(&everywhere, "all-hosts", false, "also the other hosts of airgap.yaml, through SSH")
	limitFlags(cmd.Flags(), &c)
	cmd.MarkFlagsMutuallyExclusive("all-hosts", "steps")
	return cmd
}
