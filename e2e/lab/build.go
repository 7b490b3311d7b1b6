package lab

import (
	"context"
	"io"
	"slices"

	"airgap.dev/airgap/e2e/lab/root"
)

// Build makes what the servers of cfg start from, where it is missing, out of
// what the lab's upstream has built into the same cache. It needs root.
// Progress gets the output of the programs it runs.
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
