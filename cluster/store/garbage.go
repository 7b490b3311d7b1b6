package store

import (
	"context"
	"errors"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/garbage"
)

// GarbageOptions are the directories of a registry.
type GarbageOptions struct {
	Place

	Pushed string // directory of pushed images
	DryRun bool   // remove nothing
}

// CollectGarbage removes blobs that no pushed image needs, and unfinished uploads. The registry of this host's own
// store is stopped meanwhile: a push in progress fails, and works when the client repeats it.
func CollectGarbage(ctx context.Context, o GarbageOptions) (*garbage.Result, error) {
	if err := o.mustBeInstalled("registry garbage-collect"); err != nil {
		return nil, err
	}
	bundles, err := o.open()
	defer bundle.NewView(bundles...).Close()
	if err != nil { // a pushed image can have its manifest in a bundle
		return nil, advice.Add(err, "the contents of a damaged bundle are unknown; repair it first with airgap registry import DIR")
	}
	if o.DryRun {
		return registry.CollectGarbage(ctx, o.Pushed, bundles, true)
	}
	var done *garbage.Result
	err = o.act("garbage", "Remove blobs that no pushed image needs", func() error {
		start, err := stopRegistry(ctx, o.Dir)
		if err == nil {
			done, err = registry.CollectGarbage(ctx, o.Pushed, bundles, false)
		}
		return errors.Join(err, start())
	})
	return done, err
}

// stopRegistry stops this host's registry if it runs. start starts it again.
func stopRegistry(ctx context.Context, dir string) (start func() error, err error) {
	systemctl := func(ctx context.Context, verb string) error {
		_, err := host.Local{}.Run(ctx, host.Cmd{Name: "systemctl", Args: []string{verb, registry.UnitName}})
		return err
	}
	nothing := func() error { return nil }
	if active := dir == site.StoreDir && systemctl(ctx, "is-active") == nil; !active {
		return nothing, nil
	}
	return func() error { return systemctl(context.WithoutCancel(ctx), "start") }, systemctl(ctx, "stop")
}
