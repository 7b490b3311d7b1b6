package preflight

import (
	"context"
	"slices"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
)

// Survey is Gather, and where NVIDIA's driver is loaded what its library says of the
// cards. That takes a program of the driver's or of airgap.rpm's: on a server that has
// neither, the bus tells all that a bundle needs.
func Survey(ctx context.Context, h host.Host) (*Facts, error) {
	f, err := Gather(ctx, h)
	if err != nil || f.Driver == "" {
		return f, err
	}
	if said, err := nvml.Ask(ctx, h); err == nil {
		f.NVML = withoutSerials(said)
	}
	if f.Xids, err = nvml.ReadLog(ctx, h, nvml.XidAge); err != nil {
		f.Unknown = append(f.Unknown, Unknown{"nvidiaXids", err.Error()})
	}
	return f, ctx.Err()
}

// withoutSerials leaves out what is nobody's business outside.
func withoutSerials(r *nvml.Report) *nvml.Report {
	kept := *r
	kept.Cards = slices.Clone(r.Cards)
	for i := range kept.Cards {
		kept.Cards[i].Serial = ""
	}
	return &kept
}
