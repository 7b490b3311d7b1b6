package upgrade

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
)

// prepareStep prepares all other hosts at the same time: they copy the files for their upgrade.
func (u *upgrade) prepareStep(others []config.Node) step.Step {
	prepared := func(n *corev1.Node) error { return site.Noted(n, site.PreparedNote, u.target) }
	return step.Step{
		Name: "prepare", Title: "Update images and registries on the other hosts",
		Done: func(ctx context.Context) (bool, error) { return u.all(ctx, u.pace.standing(others), prepared) },
		Run: func(ctx context.Context) error {
			if u.fleet == nil {
				return u.byHand(ctx, others, prepared, "--prepare")
			}
			f := u.fleet
			f.Each(ctx, u.members(u.pace.standing(others)), func(ctx context.Context, m *fleet.Member) error {
				line := u.p.Host(m.Node.Name)
				err := f.UpgradeOne(ctx, m, line, "--prepare")
				line.End(err)
				return err
			})
			if err := f.Policy.GoOn(ctx, "could not be prepared", "fix the error and run the same command again"); err != nil {
				return err
			}
			return withoutFailed(&u.rollout)
		},
	}
}

// hostStep returns the step that upgrades another control-plane host.
func (u *upgrade) hostStep(n config.Node) step.Step {
	return step.Step{
		Name: hostName + n.Name, Title: "Upgrade " + n.Name, May: u.may(n.Name),
		Done: func(ctx context.Context) (bool, error) { return u.all(ctx, []config.Node{n}, u.finished) },
		Run:  func(ctx context.Context) error { return u.upgradeHost(ctx, n, false) },
	}
}
