package lab

import (
	"context"
	"io"
	"slices"

	"airgap.dev/airgap/e2e/lab/root"
)

// Build makes the missing layers and the images that the servers of cfg start from. It
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
	cfg.Images = map[Kind]root.Image{}
	for _, kind := range cfg.Nodes {
		if !kind.emulated() {
			continue
		}
		if cfg.Images[kind], err = root.BuildImage(ctx, from, kernelSuites[kind], progress); err != nil {
			return err
		}
	}
	return nil
}
