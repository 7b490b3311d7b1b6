package main

import (
	"context"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/reset"
	"airgap.dev/airgap/cluster/resetall"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/kubeadm/leave"
)

const resetLong = `Undo the steps of airgap install or join in reverse order, as the journal of this server
records them. The USB drive and the registry are not required. The command shows the plan
first, and asks for confirmation. It also works after an interrupted installation. The
command can be interrupted at any point and run again.

Afterwards the server is in its earlier state, except for this data, which is kept:
  ` + site.StoreDir + `              bundles: the next install does not copy them again
  ` + site.PushedDir + `             pushed images
  ` + site.BackupDir + `, upgrade    backups: daily ones, and those from before an upgrade
  ` + leave.KeptDir + `/etcd-*        etcd data, moved there, on the last control-plane host
                                     or on one that reaches no other
  /var/lib/containerd, crio          images, which the registry can serve again
  /var/log/pods, containers, airgap  logs
  /var/log/kubernetes                the audit log
--wipe-data deletes all of it, also after an earlier reset without the flag. Copy the last
backups and pushed images to another place first.

--all-hosts resets all hosts of airgap.yaml through SSH: the workers, then the other
control-plane hosts one after the other, and this host last. The user confirms with the
name of the cluster and the number of hosts. A failure on one host does not stop the
others, but this host is then kept: fix the error and run the same command again.

The pods of this host and their emptyDir data are deleted, and so are the keys and
certificates of the cluster. Kernel modules stay loaded until the next reboot. To remove
airgap, run rpm -e airgap.`

func resetCommand(a *app) *cobra.Command {
	var yes, dryRun, wipe, everywhere bool
	var all resetall.Options
	cmd := &cobra.Command{
		Use:     "reset",
		Short:   "Undo the changes of airgap on this server",
		Long:    resetLong,
		Example: "  airgap reset --dry-run\n  airgap reset --yes --wipe-data\n  airgap reset --all-hosts",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if everywhere {
				all.Wipe, all.Console = wipe, a.terminal()
				return a.resetAll(cmd.Context(), all, yes, dryRun)
			}
			if dryRun {
				return a.finish(reset.DryRun(wipe))
			}
			o := reset.Options{Wipe: wipe, Console: a.terminal()}
			if !yes {
				o.Agree = func(ctx context.Context, plan reset.Plan) error { return a.confirm(ctx, plan) }
			}
			return a.finish(reset.Run(cmd.Context(), o))
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show the plan")
	cmd.Flags().BoolVar(&wipe, "wipe-data", false, "also delete bundles, pushed images, backups, etcd data, images, logs and the audit log")
	cmd.Flags().BoolVar(&everywhere, "all-hosts", false, "all hosts of airgap.yaml through SSH: workers, then control-plane hosts, and this host last")
	cmd.Flags().StringVar(&all.Node, "node", "", "with --all-hosts: name of this host in airgap.yaml; default: by its addresses")
	return cmd
}

// resetAll is airgap reset --all-hosts.
func (a *app) resetAll(ctx context.Context, o resetall.Options, yes, dryRun bool) error {
	if dryRun {
		return a.finish(resetall.DryRun(ctx, o))
	}
	if !yes {
		o.Agree = func(ctx context.Context, plan resetall.Plan) error { return a.confirmAs(ctx, plan, plan.Answer()) }
	}
	done, err := resetall.Run(ctx, o)
	return a.finishPart(done, done.Began(), err)
}
