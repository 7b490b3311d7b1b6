package main

import (
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/upgrade"
)

const upgradeLong = `Upgrade the cluster to the bundle in DIR: to the next minor version or a patch of
Kubernetes, to other versions of its components, or to another configuration only. Run it
on the first control-plane host, with the airgap.rpm of that bundle installed (rpm -U
--oldpackage --replacepkgs airgap.rpm). The bundle must have the same name: keep the name
in airgap.yaml, and create the bundle in another directory with airgap bundle -o. It must
be newer than the installed bundle, because airgap uses the newest bundle in a store.

Before any change the command checks that

- the versions follow each other
- airgap.yaml changes no setting that is fixed in a running cluster
- every host passes preflight, and dnf would install exactly the packages in airgap.lock
- the cluster is healthy, and etcd is not full
- no PodDisruptionBudget and no webhook blocks the upgrade
- a rollback is possible, and there is enough space for its backup

Then it works in this order:

1. Record the state of the cluster.
2. Copy the files for the upgrade to every registry and every host; compare the images
with their digests.
3. Keep an etcd snapshot, the keys and the configuration on each control-plane host.
4. Upgrade the first control-plane host, the other control-plane hosts, then the workers.
Control-plane hosts are upgraded one at a time. Workers are upgraded one at a time, or in
batches: upgrade.batch in airgap.yaml, or --batch.
5. Upgrade the network plugin and the add-ons.

Each host is drained within the PodDisruptionBudgets. Data in emptyDir volumes is lost.
After each host or batch the cluster is compared with the recorded state. A new problem
stops the upgrade if it can be because of those hosts. If a workload had no pod there, and
its broken pods are on other hosts, the problem is printed and listed at the end, and the
upgrade goes on. With a single control-plane host, use airgap backup --dir for a second
copy of the backup.

The first worker is upgraded alone: if it fails, no other worker is touched. Workers with
GPUs are last, and the first of them is alone, too. With upgrade.byRack, the workers of a
batch are in one rack. With upgrade.maxUnavailable, no more workers than that are drained,
cordoned or not ready at the same time. Workers that others have cordoned count, too. A
worker that fails, or whose pods do not leave within --drain-timeout, is uncordoned if its
kubelet works; otherwise it stays cordoned. With --max-failures the command goes on without
such workers. They are owed: the same command upgrades them later, and the upgrade does not
end before that, unless --except names them. The exit code is 5 then. Control-plane hosts
cannot be left out.

The command says how long the rest takes, by the time of the workers so far. With --until
and --hosts it stops before the upgrade is finished, and the same command continues. The
first Ctrl-C stops it after the hosts in work, and the second one at once. Kubernetes
supports kubelets that are up to three minor versions older than the API server, so a
cluster may stay partly upgraded for days. Until the upgrade ends, airgap refuses another
upgrade and the rotation of a CA.

With a section ssh in airgap.yaml, the command runs on the other hosts through SSH.
Otherwise, or with --no-ssh, it shows one command for each batch, and continues when they
are done.

At a terminal the command runs in a unit of systemd, and goes on when the login session
ends. Run the same command again to follow it. On the other servers it also runs in a unit,
and goes on when the connection is lost.

The command can be interrupted at any point. The next run continues where it stopped, and
waits for work in progress on other hosts. If the first control-plane host is lost, remove it
on another one (airgap remove NAME --force), and run the same command there: it continues with
the remaining hosts. With --take-over, another control-plane host continues while the first
one works. airgap rollback rolls back a failed upgrade.
Rollback is impossible if CA keys of the cluster are stored elsewhere, or if the etcd data
is in a directory of the site. The upgrade then starts only with --without-rollback.`

func upgradeCommand(a *app) *cobra.Command {
	var o upgrade.Options
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "upgrade DIR",
		Short:   "Upgrade the cluster to another bundle",
		Long:    upgradeLong,
		Example: "  airgap upgrade /mnt/stick/1.36/bank --dry-run\n  airgap upgrade /mnt/stick/1.36/bank\n  airgap upgrade /mnt/stick/1.36/bank --batch 10% --max-failures 2 --until 04:00",
		Args:    oneArg("the directory of the bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Console = args[0], a.terminal()
			if dryRun {
				return a.finish(upgrade.DryRun(cmd.Context(), o))
			}
			done, err := upgrade.Run(cmd.Context(), o)
			return a.finishVerified(done, err == nil || done.Began(), err)
		},
	}
	keyFlags(cmd, &o.Keys)
	f := cmd.Flags()
	f.BoolVar(&dryRun, "dry-run", false, "only check, and show the steps in their order;\ninstalls airgap.rpm on hosts that are reached through SSH")
	f.BoolVar(&o.TakeOver, "take-over", false, "run on another control-plane host than the first, which is upgraded from here too")
	f.BoolVar(&o.NoSSH, "no-ssh", false, "show the commands for the other hosts instead of running them through SSH")
	f.StringSliceVar(&o.Skip, "skip", nil, "IDs of preflight checks and rules of verify to skip")
	f.DurationVar(&o.DrainTimeout, "drain-timeout", 15*time.Minute, "maximum time to drain one host")
	healthTimeoutFlag(f, &o.Timeout, "maximum time to wait for a healthy cluster before the upgrade, and for the recorded state after each host")
	paceFlags(f, &o.Pace)
	f.BoolVar(&o.WithoutRollback, "without-rollback", false, "upgrade even if airgap rollback is impossible")
	renamed(cmd, a.stderr, "no-way-back", "without-rollback")
	cmd.AddCommand(upgradeNodeCommand(a))
	return cmd
}
