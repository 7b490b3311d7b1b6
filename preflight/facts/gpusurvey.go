package facts

import (
	"context"
	"errors"
	"slices"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
)

// Survey gathers the facts of a host. If NVIDIA's driver is loaded, it also reads the GPUs from
// NVML, which takes a program of the driver or of airgap.rpm. On a server without either, the
// PCI bus has all that a bundle needs. If NVML has another version than the driver, the server
// is at fault, and the facts record it.
func Survey(ctx context.Context, h host.Host) (*Facts, error) {
	f, err := Gather(ctx, h)
	if err != nil || f.Driver == "" {
		return f, err
	}
	switch report, err := nvml.Query(ctx, h); {
	case err == nil:
		f.NVML = withoutSerials(report)
	case errors.Is(err, nvml.ErrMismatch):
		f.Unknown = append(f.Unknown, Unknown{"nvml", err.Error()})
	}
	if f.Xids, err = nvml.ReadLog(ctx, h, nvml.XidAge); err != nil {
		f.Unknown = append(f.Unknown, Unknown{"nvidiaXids", err.Error()})
	}
	return f, ctx.Err()
}

// withoutSerials removes serial numbers: a survey leaves the site.
func withoutSerials(r *nvml.Report) *nvml.Report {
	kept := *r
	kept.GPUs = slices.Clone(r.GPUs)
	for i := range kept.GPUs {
		kept.GPUs[i].Serial = ""
	}
	return &kept
}
