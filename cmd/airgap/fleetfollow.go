package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
)

// follow has the other hosts take part in the replacement of an authority that this
// one leads, all at the same time, until its end. One that cannot ends all: they go on
// when the command is run again.
func (f *fleet) follow(ctx context.Context, authority kubeadm.Authority, p ui.Progress) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, m := range f.members {
		if !authority.Everywhere() && !m.node.Has(config.ControlPlane) {
			continue
		}
		g.Go(func() error {
			line := p.Host(m.node.Name)
			err := f.untilDone(ctx, m, line, func() error {
				far := faraway{show: line}
				return m.run(ctx, &far, nil, "", "certs", "rotate-ca", "--follow", "--only", authority.Name, "--output", "json", "--progress", "json")
			})
			line.End(err)
			if err != nil {
				return hint(fmt.Errorf("%s: %w", m.node.Name, err), "mend it and run the same command again: it goes on where it stopped")
			}
			return nil
		})
	}
	return g.Wait()
}
