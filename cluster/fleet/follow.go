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

// Follow runs the CA rotation that this host leads on the other hosts, on all at the same time, until it is
// complete. A failure on one host stops all. They continue when the command runs again.
func (f *Fleet) Follow(ctx context.Context, authority pki.CA, p ui.Progress) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, m := range f.Members {
		if !authority.OnAllHosts() && !m.Node.Has(config.ControlPlane) {
			continue
		}
		g.Go(func() error {
			line := p.Host(m.Node.Name)
			err := f.followOne(ctx, m, line, authority, patience)
			line.End(err)
			if err != nil {
				return advice.Add(fmt.Errorf("%s: %w", m.Node.Name, err), "fix the problem and run the same command again: it continues where it stopped")
			}
			return nil
		})
	}
	return g.Wait()
}

// followOne runs the rotation on one host. If an interrupted run left airgap running there, that process has the
// host's lock, and followOne waits for it: for a command of this rotation until its end, for another one at most for this time.
func (f *Fleet) followOne(ctx context.Context, m *Member, line ui.Host, authority pki.CA, atMost time.Duration) error {
	until := time.Now().Add(atMost)
	for left := false; ; left = true {
		err := f.UntilDone(ctx, m, line, func() error {
			run := RemoteRun{Show: line, Endless: true}
			return m.RunLong(ctx, &run, "", "certs", "rotate-ca", "--follow", "--only", authority.Name, "--output", "json", "--progress", "json")
		})
		if left && nobodyLeads(err) {
			return nil
		}
		if !stillBusy(err) {
			return err
		}
		if !left || follows(err) {
			until = time.Now().Add(atMost)
		}
		if time.Now().After(until) {
			return advice.Add(fmt.Errorf("wait %s for another airgap command on this host: %w", atMost, err),
				"on %s, airgap status shows its steps; wait for its end, or end it, and run the same command again", m.Node.Name)
		}
		line.Now("waiting for another airgap command on this host, possibly from an interrupted run")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(knockAgain):
		}
	}
}

// follows reports whether the other command follows a rotation, as a user can order it on the host. It ends with the rotation.
func follows(err error) bool {
	run, is := errors.AsType[*remoteError](err)
	return is && strings.Contains(run.text, "certs rotate-ca ") && strings.Contains(run.text, "--follow")
}

func nobodyLeads(err error) bool {
	run, is := errors.AsType[*remoteError](err)
	return is && strings.Contains(run.text, pki.ErrNoLeader.Error())
}
