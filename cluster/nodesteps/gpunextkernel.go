package nodesteps

import (
	"context"
	"fmt"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/verify/nodereport"
)

// driverStep asks for the next kernel when its turn has come: the driver is to be there for
// that one, too.
func driverStep(s *site.Site, cards gpu.Setup) step.Step {
	driver := gpu.DriverStep(cards)
	driver.Run = func(ctx context.Context) (err error) {
		if cards.Next, err = nextKernel(ctx, s); err != nil {
			return err
		}
		return gpu.DriverStep(cards).Run(ctx)
	}
	return driver
}

// nextKernel is the one that this host boots next, as preflight tells it.
func nextKernel(ctx context.Context, s *site.Site) (string, error) {
	h := s.Machine.Host
	running, err := nodereport.Kernel(h)
	if err != nil {
		return "", err
	}
	chosen, err := nextboot.ReadEntry(h.FS())
	if err != nil {
		return "", fmt.Errorf("ask the boot loader for the next kernel: %w", err)
	}
	installed, err := rpm.Kernels(ctx, h)
	if err != nil {
		return "", err
	}
	f := &facts.Facts{Kernel: facts.Kernel{Release: running, Next: chosen.Release}}
	for _, k := range installed {
		f.Packages = append(f.Packages, facts.Package{Name: k.Name, Version: k.Version, Release: k.Release, Arch: k.Arch})
	}
	return f.NextKernel(), nil
}
