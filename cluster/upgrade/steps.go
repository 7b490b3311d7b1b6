package upgrade

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/verify"
)

// steps is the whole upgrade, in order.
func (u *upgrade) steps(ctx context.Context) ([]step.Step, error) {
	s := u.site
	images, err := join.ImagesStep(s)
	if err != nil {
		return nil, err
	}
	own, err := u.ownSteps(ctx)
	if err != nil {
		return nil, err
	}
	steps := append([]step.Step{upgraderecord.RecordStep(u.record), anew(u.baselineStep(), upgraderecord.RecordedChange)}, nodesteps.RegistrySteps(s, u.view, u.trusted, u.p)...)
	steps = append(steps, join.MaterialStep(s, u.view.Top()), images)
	if others := u.others(); len(others) > 0 {
		steps = append(steps, u.prepareStep(others))
	}
	steps = append(steps, anew(upgraderecord.BackupBefore(u.record.To.ID), upgraderecord.RecordedChange), u.changedStep())
	steps = append(append(steps, own...), u.compareStep(s.Node.Name, "after "+s.Node.Name))
	var workers []step.Step
	for _, n := range u.others() {
		one := []step.Step{u.hostStep(n), u.compareStep(n.Name, "after "+n.Name)}
		if n.Has(config.ControlPlane) {
			steps = append(steps, one...)
		} else {
			workers = append(workers, one...)
		}
	}
	steps = append(append(steps, join.Upgrade(s, true).KubeProxy()), workers...)
	steps = append(steps, install.ClusterSteps(s, u.view, u.p)...)
	return append(steps, u.compareStep("", "at the end"), u.endStep()), nil
}

// baselineStep writes the cluster down as it is, also what the site's own workloads
// lack: that is no fault of the upgrade then.
func (u *upgrade) baselineStep() step.Step {
	return step.Step{
		Name: "baseline", Title: "Write the cluster down as it is before the upgrade",
		Done: func(context.Context) (bool, error) { return site.Exists(upgraderecord.UpgradeBaselineFile), nil },
		Run: func(ctx context.Context) error {
			v, err := u.verification(false)
			if err != nil {
				return err
			}
			v.Timeout, v.Snapshot = time.Minute, true
			report, err := verify.Run(ctx, v)
			if err != nil {
				return err
			}
			modes := verdict.Modes{Baseline: verdict.SaveBaseline, File: upgraderecord.UpgradeBaselineFile}
			cluster, err := modes.Cluster(ctx, u.client, nil)
			if err != nil {
				return err
			}
			return modes.Save(report, cluster, u.p)
		},
	}
}

// anew is a step that writes down what was before: each run does so until the first host
// is changed, for the run before may be days old.
func anew(s step.Step, changed func() (bool, error)) step.Step {
	done, run, ran := s.Done, s.Run, false
	s.Done = func(ctx context.Context) (bool, error) {
		if is, err := changed(); err != nil || !is && !ran {
			return false, err
		}
		return done(ctx)
	}
	s.Run = func(ctx context.Context) error {
		err := run(ctx)
		ran = err == nil
		return err
	}
	return s
}

// changedStep notes, before it is so, that there is something to take back, and which
// nodes were cordoned by then: from here on it is the upgrade that does it.
func (u *upgrade) changedStep() step.Step {
	return step.Step{
		Name: "upgrade-begins", Title: "Note that the first host is about to be changed",
		Done: func(context.Context) (bool, error) { return upgraderecord.RecordedChange() },
		Run: func(ctx context.Context) error {
			if err := u.look(ctx); err != nil { // other hosts may have taken days to be prepared
				return err
			}
			return upgraderecord.Note(func(r *upgraderecord.Record) { r.Changed, r.Cordoned = true, u.record.Cordoned })
		},
	}
}

// compareStep compares the cluster with what it was like, once: host is the node that
// was upgraded before it, "" is the end.
func (u *upgrade) compareStep(host, when string) step.Step {
	return step.Step{
		Name: "compare-" + host, Title: "Compare the cluster with what it was like, " + when,
		Done: func(context.Context) (bool, error) {
			r, err := upgraderecord.Read()
			return slices.Contains(r.Verified, host), err
		},
		Run: func(ctx context.Context) error {
			if err := u.compare(ctx); err != nil {
				return err
			}
			return upgraderecord.Note(func(r *upgraderecord.Record) { r.Verified = append(r.Verified, host) })
		},
	}
}

func (u *upgrade) endStep() step.Step {
	return step.Step{
		Name: "upgrade-ends", Title: "Note that the upgrade has come to its end",
		Done: func(context.Context) (bool, error) {
			r, err := upgraderecord.Read()
			return !r.Ended.IsZero(), err
		},
		Run: func(context.Context) error {
			return upgraderecord.Note(func(r *upgraderecord.Record) { r.Ended = time.Now().UTC() })
		},
	}
}

// drainStep lets a host's pods go elsewhere, and says on its Node that its turn has
// come.
func (u *upgrade) drainStep(n config.Node) step.Step {
	return step.Step{
		Name: "drain", Title: "Let the pods of " + n.Name + " go elsewhere",
		Done: func(ctx context.Context) (bool, error) {
			node, err := u.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return node.Annotations[site.UpgradeNote] == u.target && (node.Spec.Unschedulable || u.alone(n)), nil
		},
		Run: func(ctx context.Context) error { return u.drain(ctx, n) },
	}
}

func (u *upgrade) drain(ctx context.Context, n config.Node) error {
	if u.alone(n) {
		u.p.Say("the pods of %s stay: there is no other host for them", n.Name)
	} else if err := kubeadm.Drain(ctx, u.client, n.Name, kubeadm.DrainOptions{Timeout: u.options.DrainTimeout, Say: u.p.Say}); err != nil {
		return err
	}
	return site.Annotate(ctx, u.client, n.Name, site.UpgradeNote, u.target)
}

// alone reports whether no other host takes pods.
func (u *upgrade) alone(n config.Node) bool {
	for name, other := range u.nodes {
		if name != n.Name && !slices.Contains(u.record.Cordoned, name) && !slices.ContainsFunc(other.Spec.Taints, keepsPodsOff) {
			return false
		}
	}
	return true
}

// releaseStep lets pods come to a host again that was drained.
func (u *upgrade) releaseStep(n config.Node) step.Step {
	return step.Step{
		Name: "uncordon", Title: "Let pods come to " + n.Name + " again",
		Done: func(ctx context.Context) (bool, error) {
			node, err := u.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return u.released(node), nil
		},
		Run: func(ctx context.Context) error { return kubeadm.Uncordon(ctx, u.client, n.Name) },
	}
}
