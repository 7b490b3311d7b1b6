package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/upgrade"
)

const rollbackLong = `Takes the last upgrade back: the cluster has the bundle, the packages and the
configuration again that it had before, and etcd's data as they were when the first
host was about to be changed. What was written to the cluster since is lost. Run it on
the first control-plane host; it knows how far the upgrade came, and an upgrade that
had changed no host yet is just forgotten. On another control-plane host it takes that
one out of the upgraded cluster: run it there when the first one says so.

The control plane stands still from the moment at which the control-plane hosts leave
the upgraded cluster until the first one is back. Pods go on meanwhile; those that came
since the upgrade began end when their kubelets hear of the restored cluster.

Bundles that came into the stores after the one to go back to leave them: of several the
newest would be installed from. Nodes that were removed since stay removed. A control-plane
host that came since, and that the bundle of before does not have, is to be removed first.

Other hosts are worked on through SSH where airgap.yaml has a section ssh; without, or
with --no-ssh, it says what to run on which host, and goes on when that is done.

The command can be interrupted at any point, and goes on when it is run again. At the
end the cluster is compared with what it was like before the upgrade.`

func rollbackCommand(a *app) *cobra.Command {
	var o upgrade.BackOptions
	cmd := &cobra.Command{
		Use: "rollback", Short: "Take the last upgrade back, and what was written since", Args: noArgs,
		Long:    rollbackLong,
		Example: "  airgap rollback\n  airgap rollback --yes   # asks nothing",
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Console = a.terminal()
			return a.finish(upgrade.Back(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	backupFlags(cmd, &o.Backup, ". Default: this host's own")
	f := cmd.Flags()
	f.BoolVar(&o.Yes, "yes", false, "do not ask")
	f.BoolVar(&o.NoSSH, "no-ssh", false, "say what to run on the other hosts instead of running it there through SSH")
	f.StringSliceVar(&o.Skip, "skip", nil, "preflight checks and rules of verify to leave out, by id")
	wellTimeoutFlag(f, &o.Timeout, "how long the cluster may take to be as before the upgrade at the end")
	f.BoolVar(&o.Forget, "forget", false, "on another control-plane host: only forget the new bundle, for no host was changed")
	f.StringVar(&o.Of, "of", "", "on another control-plane host: which upgrade, by the ID of its bundle;\nairgap rollback on the first one names it. One that this host was not prepared for,\nor has left already, is nothing to do")
	return cmd
}
