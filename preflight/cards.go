package preflight

import (
	"context"
	"errors"
	"slices"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
)

// Survey is Gather, and where NVIDIA's driver is loaded what its library says of the
// cards. That takes a program of the driver's or of airgap.rpm's: on a server that has
// neither, the bus tells all that a bundle needs. That the library is of another version
// than the driver is a fault of the server, and stays in the facts.
func Survey(ctx context.Context, h host.Host) (*Facts, error) {
	f, err := Gather(ctx, h)
	if err != nil || f.Driver == "" {
		return f, err
	}
	switch said, err := nvml.Ask(ctx, h); {
	case err == nil:
		f.NVML = withoutSerials(said)
	case errors.Is(err, nvml.ErrMismatch):
		f.Unknown = append(f.Unknown, Unknown{"nvml", err.Error()})
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
