package upgrade

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/drain"
)

// prepareStep prepares all other hosts at the same time: they copy the files for their upgrade.
func (u *upgrade) prepareStep(others []config.Node) step.Step {
	prepared := func(n *corev1.Node) error { return site.Noted(n, site.PreparedNote, u.target) }
	return step.Step{
		Name: "prepare", Title: "Update images and registries on the other hosts",
		Done: func(ctx context.Context) (bool, error) { return u.all(ctx, others, prepared) },
		Run: func(ctx context.Context) error {
			if u.fleet == nil {
				return u.byHand(ctx, others, prepared, "--prepare")
			}
			f := u.fleet
			f.Each(ctx, u.members(others), func(ctx context.Context, m *fleet.Member) error {
				line := u.p.Host(m.Node.Name)
				err := f.UpgradeOne(ctx, m, line, "--prepare")
				line.End(err)
				return err
			})
			return f.Problems(ctx, "could not be prepared", "fix the error and run the same command again")
		},
	}
}

// hostStep returns the step that upgrades another host.
func (u *upgrade) hostStep(n config.Node) step.Step {
	return step.Step{
		Name: "upgrade-" + n.Name, Title: "Upgrade " + n.Name,
		Done: func(ctx context.Context) (bool, error) {
			return u.all(ctx, []config.Node{n}, func(node *corev1.Node) error {
				if !u.takesPods(node) {
					return errors.New("it is cordoned")
				}
				return u.upgraded(node)
			})
		},
		Run: func(ctx context.Context) error {
			if err := u.drain(ctx, n); err != nil {
				return err
			}
			if err := u.runHost(ctx, n); err != nil {
				return err
			}
			if slices.Contains(u.record.Cordoned, n.Name) {
				return nil
			}
			return drain.Uncordon(ctx, u.client, n.Name)
		},
	}
}
