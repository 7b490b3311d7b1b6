package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/kubeadm/kube"
)

const pruneLong = `Remove the bundles in the directories NAME of the store of this host, or all unused
bundles. For several bundles of one cluster, the directory of a later one is NAME-ID. A
bundle is kept, and the reason is shown, in these cases:

  tags            an image name would lose its content
  pushed images   a pushed image uses its layers
  pods            the image of a running pod is in no other bundle
  deltas          a later bundle leaves out files of this one
  rollback        it is the bundle before the last upgrade, which airgap rollback restores
  cluster         it is the newest bundle, with the configuration of the cluster; one that
                  was only imported, and that no node runs, can be removed by name

--without-rollback ignores the reason rollback. --drop-tags also removes image names that only
the named bundles have. The command reads the pods with the kubeconfig of the cluster. If
the cluster does not answer, nothing is removed, except with --no-pods.

A delta that is built from an earlier receipt of this host can require a removed bundle:
this host then refuses the delta.

The registry restarts after a removal. The store keeps a record of the image names: pushes
to them stay refused, and an earlier push is not served again.`

func registryPruneCommand(a *app) *cobra.Command {
	var o store.PruneOptions
	cmd := &cobra.Command{
		Use:     "prune [NAME...]",
		Short:   "Remove unused bundles from the store of this host",
		Long:    pruneLong,
		Example: "  airgap registry prune --dry-run\n  airgap registry prune bank-0f3c19d2a7b4 --drop-tags",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.DropTags && len(args) == 0 {
				return advice.Usagef("airgap registry prune: --drop-tags requires the names of the bundles")
			}
			o.Names = args
			done, err := store.Prune(cmd.Context(), o)
			return a.finishPart(done, done != nil, err)
		},
	}
	storeFlags(cmd, &o.Place)
	f := cmd.Flags()
	f.StringVar(&o.Pushed, "pushed", site.PushedDir, "directory of the pushed images")
	f.StringVar(&o.Kubeconfig, "kubeconfig", kube.AdminConf, "kubeconfig of the cluster that pulls from this host")
	f.BoolVar(&o.NoPods, "no-pods", false, "do not check the images of running pods")
	f.BoolVar(&o.DropTags, "drop-tags", false, "also remove image names that only the named bundles have")
	f.BoolVar(&o.WithoutRollback, "without-rollback", false, "also remove the bundle that airgap rollback would restore")
	f.BoolVar(&o.DryRun, "dry-run", false, "show the bundles to remove, and remove nothing")
	renamed(cmd, a.stderr, "no-way-back", "without-rollback")
	return cmd
}
