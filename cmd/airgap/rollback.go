package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/upgrade"
)

const rollbackLong = `Roll back the last upgrade. The cluster gets its earlier bundle, packages and
configuration, and the etcd data from before the first host was changed. Everything that
was written to the cluster since then is lost.

Run it on the first control-plane host, which records the progress of the upgrade. If the
upgrade has changed no host yet, the command only deletes the record. On another
control-plane host the command removes that host from the upgraded cluster: run it there
when the first one asks for it.

The control plane is down from the moment the control-plane hosts leave the upgraded
cluster until the first one is back. Pods keep running during that time. Pods that were
created after the upgrade began are deleted when their kubelets connect to the restored
cluster.

Bundles that are newer than the restored one are removed from the stores, because airgap
uses the newest bundle. Nodes that were removed since then stay removed. If a
control-plane host was added that the earlier bundle does not list, remove it first.

With a section ssh in airgap.yaml, the command runs on the other hosts through SSH.
Otherwise, or with --no-ssh, it shows one command for each batch, and continues when they
are done.

Control-plane hosts come back one at a time, then the workers, in the batches of airgap
upgrade. --batch, --max-failures, --until and the other flags for workers, and Ctrl-C, work
as there. Kubernetes does not support kubelets that are newer than the API server, so do
not leave workers out for long.

The command can be interrupted at any point. The next run continues where it stopped. At
the end the cluster is compared with its state before the upgrade. Problems that did not
stop the upgrade, because its hosts were not the cause, do not stop the rollback either.`

func rollbackCommand(a *app) *cobra.Command {
	var o upgrade.BackOptions
	cmd := &cobra.Command{
		Use: "rollback", Short: "Roll back the last upgrade, and lose all later writes", Args: noArgs,
		Long:    rollbackLong,
		Example: "  airgap rollback\n  airgap rollback --yes   # without confirmation",
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Console = a.terminal()
			done, err := upgrade.Back(cmd.Context(), o)
			return a.finishVerified(done, err == nil || done.Began(), err)
		},
	}
	keyFlags(cmd, &o.Keys)
	backupFlags(cmd, &o.Backup, "; default: the key of this host")
	f := cmd.Flags()
	f.BoolVar(&o.Yes, "yes", false, "do not ask for confirmation")
	f.BoolVar(&o.NoSSH, "no-ssh", false, "show the commands for the other hosts instead of running them through SSH")
	f.StringSliceVar(&o.Skip, "skip", nil, "IDs of preflight checks and rules of verify to skip")
	healthTimeoutFlag(f, &o.Timeout, "maximum time to wait at the end until the cluster matches its state before the upgrade")
	paceFlags(f, &o.Pace)
	f.BoolVar(&o.Forget, "forget", false, "on another control-plane host: only remove the new bundle, because no host was changed")
	f.StringVar(&o.Of, "of", "", "on another control-plane host: ID of the bundle of the upgrade, as airgap rollback\non the first one shows it. Nothing is changed if this host was not prepared for\nthe upgrade or has left it already")
	return cmd
}
