package main

import (
	"context"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/reset"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/kubeadm/leave"
)

const resetLong = `Takes back the steps of install or join, last first, by what they wrote down when
they ran: neither the stick nor the registry is needed. It says first what it is
going to do, and asks. A host whose install was interrupted is taken back as well.
It can be interrupted at any point and run again.

Afterwards the server is as it was before, but for data, which stays:
  ` + site.StoreDir + `              bundles: the next install need not copy them again
  ` + site.PushedDir + `             images that the site pushed
  ` + site.BackupDir + `, upgrade    backups: each day's, those from before an upgrade
  ` + leave.KeptDir + `/etcd-*        etcd's data, moved there, on the last control-plane
                                     host, or one that reaches no other
  /var/lib/containerd, crio          images, which the registry would give again
  /var/log/pods, containers, airgap  logs
  /var/log/kubernetes                the audit log
With --wipe-data all of it is deleted, also after a reset that left it: copy backups
and pushed images away first, where they are the last ones.

Pods and what they keep on this host (emptyDir) are gone afterwards, and so are the
cluster's keys and certificates. Kernel modules stay loaded until the next reboot.
airgap itself goes with rpm -e airgap.`

func resetCommand(a *app) *cobra.Command {
	var yes, dryRun, wipe bool
	cmd := &cobra.Command{
		Use:     "reset",
		Short:   "Take back what airgap did to this server",
		Long:    resetLong,
		Example: "  airgap reset --dry-run\n  airgap reset --yes --wipe-data",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dryRun {
				return a.finish(reset.Rehearse(wipe))
			}
			o := reset.Options{Wipe: wipe, Console: a.terminal()}
			if !yes {
				o.Agree = func(ctx context.Context, plan reset.Plan) error { return a.agree(ctx, plan) }
			}
			return a.finish(reset.Run(cmd.Context(), o))
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be done")
	cmd.Flags().BoolVar(&wipe, "wipe-data", false, "delete bundles, pushed images, backups, etcd's data, images, logs and the audit log too")
	return cmd
}
