package main

import (
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/upgrade"
)

const upgradeLong = `Brings a cluster to the bundle in DIR: to the next minor or a patch of Kubernetes, to
other versions of what comes with it, or only to another configuration. Run it on the
first control-plane host, with the airgap.rpm of that bundle installed (rpm -U
--oldpackage --replacepkgs airgap.rpm). The bundle is of the same name: in airgap.yaml
that stays, only airgap bundle -o names another directory. It was made after the one
that the cluster is as, for of several in a store the newest counts.

What can be checked is checked before anything is changed: that the versions follow
each other, that airgap.yaml changes nothing that a running cluster cannot change, that
every host passes preflight and dnf would do exactly what the lock says, that the
cluster is well and etcd not full, that no PodDisruptionBudget and no webhook would stop
it, that it can be taken back and there is room for the backup which that needs. Then,
step by step: the cluster is written down as it is; every registry and every host gets
what it will need, images compared with their digests; each control-plane host keeps
etcd's snapshot, keys and configuration as they are (where there is one such host only,
airgap backup --dir makes the second copy); the first control-plane host is upgraded,
the others, the workers, one at a time. Each is drained first, as its
PodDisruptionBudgets allow (what a pod keeps in an emptyDir goes with it), and after
each the cluster is compared with what was written down. Network plugin and add-ons
come last.

Other hosts are worked on through SSH where airgap.yaml has a section ssh; without, or
with --no-ssh, it says what to run on which host, and goes on when that is done.

The command can be interrupted at any point, and goes on when it is run again: what it
has left at work on another host is waited for. airgap rollback takes an upgrade back
that does not come to a good end. Where it could not, since keys of the cluster's
authorities are kept elsewhere or etcd's data lies in a directory of the site's, the
upgrade does not begin, but with --no-way-back.`

func upgradeCommand(a *app) *cobra.Command {
	var o upgrade.Options
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "upgrade DIR",
		Short:   "Bring the cluster to another bundle: Kubernetes, its parts, its configuration",
		Long:    upgradeLong,
		Example: "  airgap upgrade /media/stick/1.36/bank --dry-run\n  airgap upgrade /media/stick/1.36/bank",
		Args:    oneArg("the bundle's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Console = args[0], a.terminal()
			if dryRun {
				return a.finish(upgrade.Rehearse(cmd.Context(), o))
			}
			return a.finish(upgrade.Run(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	f := cmd.Flags()
	f.BoolVar(&dryRun, "dry-run", false, "only check, and say what would be done, in which order;\nputs airgap.rpm on hosts that are reached through SSH")
	f.BoolVar(&o.NoSSH, "no-ssh", false, "say what to run on the other hosts instead of running it there through SSH")
	f.StringSliceVar(&o.Skip, "skip", nil, "preflight checks and rules of verify to leave out, by id")
	f.DurationVar(&o.DrainTimeout, "drain-timeout", 15*time.Minute, "how long the pods of one host may take to leave it")
	wellTimeoutFlag(f, &o.Timeout, "how long the cluster may take to be well before the upgrade, and as before after each host")
	f.BoolVar(&o.NoWayBack, "no-way-back", false, "upgrade also where airgap rollback could not take it back")
	cmd.AddCommand(upgradeNodeCommand(a))
	return cmd
}
