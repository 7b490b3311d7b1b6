package lab

import (
	"context"
	"io"
	"slices"

	"airgap.dev/airgap/e2e/lab/root"
)

// Build makes the missing layers and the image that the servers of cfg start from. It
// uses the files that the lab's upstream has built into the same cache, and needs root.
// Progress gets the names of the layers that it makes.
func (cfg *Config) Build(ctx context.Context, progress io.Writer) error {
	from, err := root.ForUpstream(cfg.Cache)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(cfg.Nodes, Kind.contained) {
		if cfg.Layers, err = root.Build(ctx, from, progress); err != nil {
			return err
		}
	}
	if slices.Contains(cfg.Nodes, KindEmulated) {
		cfg.Image, err = root.BuildImage(ctx, from, progress)
	}
	return err
}
