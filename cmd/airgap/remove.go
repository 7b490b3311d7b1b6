package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/removal"
)

const removeLong = `Remove nodes from the cluster. Run the command on a control-plane host that stays. It
shows the plan first, and asks for confirmation. Before any change it checks that etcd
keeps its quorum and accepts writes, and that no PodDisruptionBudget blocks the pods of
the node permanently. Blocking budgets are listed.

Then the node is cordoned and drained within the PodDisruptionBudgets. Data in emptyDir
volumes is lost. Pods that remain after --timeout are listed with the reason. With a
section ssh in airgap.yaml, the command runs airgap reset on the host; otherwise it prints
the command to run there. The etcd member of a control-plane host is removed before its
Node is deleted. The other hosts remove the node from their lists for registries and
firewall.

Several nodes, also as a range such as node[004-010], are removed one after the other:
workers first, then control-plane hosts, before each of which etcd must have its quorum.
New pods start on none of them. The other hosts change their lists once, at the end. After
a failure the command names the removed nodes and the rest, and the same command continues.

For a dead host use --force: the command does not wait for its pods, and they start on
other nodes. A replacement with the same name and address joins like any other host; its
predecessor does not have to be removed.

The bundle still lists the node. The cluster records the removal, so that airgap verify
and airgap install do not report the node as missing. airgap join --new-token --node NODE
lets it join again.

The command can be interrupted at any point and run again.`

func removeCommand(a *app) *cobra.Command {
	var o removal.Options
	var yes, dryRun bool
	cmd := &cobra.Command{
		Use:     "remove NODE…",
		Short:   "Remove nodes from the cluster",
		Long:    removeLong,
		Example: "  airgap remove node5 --dry-run\n  airgap remove node5 --timeout 30m\n  airgap remove node4 'node[007-010]'\n  airgap remove node3 --force   # its host is dead",
		Args:    someArgs("the names of nodes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Nodes, o.Console = args, a.terminal()
			if dryRun {
				return a.finish(removal.DryRun(cmd.Context(), o))
			}
			if !yes {
				o.Agree = func(ctx context.Context, plan removal.Plan) error { return a.confirm(ctx, plan) }
			}
			done, err := removal.Run(cmd.Context(), o)
			return a.finishPart(done, done.Began(), err)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.Force, "force", false, "the hosts are dead: do not wait for them")
	f.BoolVar(&o.Unmanaged, "delete-unmanaged", false, "also delete pods that no controller would create again")
	f.BoolVar(&yes, "yes", false, "do not ask for confirmation")
	f.BoolVar(&dryRun, "dry-run", false, "only check, and show the plan")
	f.BoolVar(&o.NoSSH, "no-ssh", false, "print the commands for other hosts instead of running them through SSH")
	f.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "maximum time to wait for the pods of a node to terminate; 0: no limit")
	f.StringSliceVar(&o.Skip, "skip", nil, "IDs of preflight checks to skip on the hosts with changed lists")
	keyFlags(cmd, &o.Keys)
	return cmd
}
