package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/removal"
)

const removeLong = `Takes a node out, from a control-plane host that stays. It says first what it is
going to do, and asks. Nothing is changed before it is certain that etcd keeps its
quorum and takes writes, and that no PodDisruptionBudget holds the node's pods for
ever; those that do are named.

Then the node gets no more pods and those that it has are moved, as their budgets
allow; what they keep in an emptyDir goes with them. What is still there after
--timeout is named with what holds it. With a section ssh in airgap.yaml airgap reset
takes the host itself back; else the line to run there is printed. A control-plane
host's member leaves etcd before its Node is deleted. The other hosts take the node
out of their lists: registries, firewall.

A host that is dead for good wants --force: its pods are not waited for, and start
elsewhere. Another machine of its name and address joins as any other does; nothing
has to be removed for that.

The bundle goes on to list the node. That it was removed is written down in the
cluster, so that airgap verify and airgap install do not miss it; airgap join
--new-code --node NODE lets it in again.

It can be interrupted at any point and run again.`

func removeCommand(a *app) *cobra.Command {
	var o removal.Options
	var yes, dryRun bool
	cmd := &cobra.Command{
		Use:     "remove NODE",
		Short:   "Take a node out of the cluster, for good or until it joins by a new code",
		Long:    removeLong,
		Example: "  airgap remove node5 --dry-run\n  airgap remove node5 --timeout 30m\n  airgap remove node3 --force   # its host is dead",
		Args:    oneArg("the node's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Node, o.Console = args[0], a.terminal()
			if dryRun {
				return a.finish(removal.Rehearse(cmd.Context(), o))
			}
			if !yes {
				o.Agree = func(ctx context.Context, plan removal.Plan) error { return a.agree(ctx, plan) }
			}
			return a.finish(removal.Run(cmd.Context(), o))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.Force, "force", false, "its host is dead: take it out as it is")
	f.BoolVar(&o.Unmanaged, "delete-unmanaged", false, "delete pods, too, that nobody would make again")
	f.BoolVar(&yes, "yes", false, "do not ask")
	f.BoolVar(&dryRun, "dry-run", false, "only check, and say what would be done")
	f.BoolVar(&o.NoSSH, "no-ssh", false, "print what to run on other hosts instead of doing it through SSH")
	f.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "how long its pods may take to leave; 0: as long as they want")
	f.StringSliceVar(&o.Skip, "skip", nil, "preflight checks to leave out on the hosts whose lists change, by id")
	keyFlags(cmd, &o.Keys)
	return cmd
}
