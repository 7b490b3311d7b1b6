package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/pki"
)

// Follow has the other hosts take part in the replacement of an authority that this
// one leads, all at the same time, until its end. One that cannot ends all: they go on
// when the command is run again.
func (f *Fleet) Follow(ctx context.Context, authority pki.Authority, p ui.Progress) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, m := range f.Members {
		if !authority.Everywhere() && !m.Node.Has(config.ControlPlane) {
			continue
		}
		g.Go(func() error {
			line := p.Host(m.Node.Name)
			err := f.followOne(ctx, m, line, authority)
			line.End(err)
			if err != nil {
				return advice.Add(fmt.Errorf("%s: %w", m.Node.Name, err), "mend it and run the same command again: it goes on where it stopped")
			}
			return nil
		})
	}
	return g.Wait()
}

// followOne lets what an interrupted run has left at work there follow to the end: it
// keeps others from changing the host.
func (f *Fleet) followOne(ctx context.Context, m *Member, line ui.Host, authority pki.Authority) error {
	for left := false; ; left = true {
		err := f.UntilDone(ctx, m, line, func() error {
			far := Faraway{Show: line}
			return m.Run(ctx, &far, nil, "", "certs", "rotate-ca", "--follow", "--only", authority.Name, "--output", "json", "--progress", "json")
		})
		if left && nobodyLeads(err) {
			return nil
		}
		if !stillBusy(err) {
			return err
		}
		line.Now("another command is at work there, which an interrupted run may have left")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(knockAgain):
		}
	}
}

func nobodyLeads(err error) bool {
	far, is := errors.AsType[*farawayError](err)
	return is && strings.Contains(far.text, pki.ErrNobodyLeads.Error())
}
