package upgrade

import (
	"context"
	"time"

	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/verify"
)

// steps is the whole upgrade, in order.
func (u *upgrade) steps(ctx context.Context) ([]step.Step, error) {
	s := u.site
	images, err := imagesStep(s)
	if err != nil {
		return nil, err
	}
	own, err := u.ownSteps(ctx)
	if err != nil {
		return nil, err
	}
	steps := append([]step.Step{upgraderecord.RecordStep(u.record), eachRun(u.baselineStep(), upgraderecord.RecordedChange)}, nodesteps.RegistrySteps(s, u.view, u.trusted, u.p)...)
	steps = append(steps, join.MaterialStep(s, u.view.Top()), images)
	if others := u.others(); len(others) > 0 {
		steps = append(steps, u.prepareStep(others))
	}
	steps = append(steps, eachRun(upgraderecord.BackupBefore(u.record.To.ID), upgraderecord.RecordedChange), u.changedStep())
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
	steps = append(append(steps, kubeadmPart(s, true).KubeProxy()), workers...)
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

// eachRun is a step that writes down what was before: each run does so until the first host
// is changed, for the run before may be days old.
func eachRun(s step.Step, changed func() (bool, error)) step.Step {
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
		Name: compareName + host, Title: "Compare the cluster with what it was like, " + when,
		Once: u.record.Upgrade(), Run: u.compare,
	}
}

// compareName begins the name of each step that compares the cluster.
const compareName = "compare-"

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
