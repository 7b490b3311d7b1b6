package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
)

const garbageLong = `Remove pushed layers and manifests that no image needs, and unfinished uploads, to free
space. A deleted image and a tag that moved leave them behind.

The registry stops during the removal. A push in progress fails, and works when the client
repeats it. If a pushed image cannot be read, nothing is removed.

airgap registry prune removes unused bundles.`

func registryGarbageCommand(a *app) *cobra.Command {
	var o store.GarbageOptions
	cmd := &cobra.Command{
		Use:     "garbage-collect",
		Short:   "Free the space of deleted pushed images on this host",
		Long:    garbageLong,
		Example: "  airgap registry garbage-collect --dry-run\n  airgap registry garbage-collect",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			done, err := store.CollectGarbage(cmd.Context(), o)
			return a.finishPart(done, done != nil, err)
		},
	}
	storeFlags(cmd, &o.Place)
	cmd.Flags().StringVar(&o.Pushed, "pushed", site.PushedDir, "directory of the pushed images")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "show the space that would be freed, and remove nothing")
	return cmd
}
