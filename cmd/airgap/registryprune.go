package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/kubeadm/kube"
)

const pruneLong = `Removes the bundles in the directories NAME of this host's store, or all that nothing
needs: of several bundles of one cluster the later ones have their ID behind the name. A
bundle stays, and what needs it is said, as long as

  tags            a name of an image would lose its content
  pushed images   an image that was pushed rests on its layers
  pods            a running pod's image is in no other bundle
  deltas          a later bundle leaves out what this one has
  rollback        it is the one before the last upgrade, to which airgap rollback goes back
  cluster         it is the newest, which has the cluster's configuration; one that no node
                  is as, since it was only imported, may be named

With --no-way-back rollback is no reason, with --drop-tags names of images may go with
the bundles that are named. The pods are asked for with the cluster's kubeconfig;
where there is a cluster that does not answer, nothing is removed, but with --no-pods.
A delta that is being made somewhere against a receipt of this host counts on what is
removed, and will be refused here.

The registry is restarted when something was removed. The store remembers the names
of the images: nobody can push to them, and an earlier push is not served again.`

func registryPruneCommand(a *app) *cobra.Command {
	var o store.PruneOptions
	cmd := &cobra.Command{
		Use:     "prune [NAME...]",
		Short:   "Remove bundles from this host's store that nothing needs any more",
		Long:    pruneLong,
		Example: "  airgap registry prune --dry-run\n  airgap registry prune bank-0f3c19d2a7b4 --drop-tags",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.DropTags && len(args) == 0 {
				return advice.Usagef("airgap registry prune: --drop-tags wants the names of the bundles")
			}
			o.Names = args
			done, err := store.Prune(cmd.Context(), o)
			return a.finishPart(done, done != nil, err)
		},
	}
	placeFlags(cmd, &o.Place)
	f := cmd.Flags()
	f.StringVar(&o.Pushed, "pushed", site.PushedDir, "directory of what was pushed")
	f.StringVar(&o.Kubeconfig, "kubeconfig", kube.AdminConf, "kubeconfig of the cluster that pulls from here")
	f.BoolVar(&o.NoPods, "no-pods", false, "do not ask which pods run")
	f.BoolVar(&o.DropTags, "drop-tags", false, "let the names of images go that only the named bundles have")
	f.BoolVar(&o.NoWayBack, "no-way-back", false, "let the bundle go that airgap rollback would go back to")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would be removed, and remove nothing")
	return cmd
}
