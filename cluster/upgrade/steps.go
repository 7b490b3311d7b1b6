package upgrade

import (
	"context"
	"time"

	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/verify"
)

// steps returns all steps of the upgrade in their order.
func (u *upgrade) steps(ctx context.Context) ([]step.Step, error) {
	s := u.site
	images, err := imagesStep(s, u.p)
	if err != nil {
		return nil, err
	}
	own, err := u.firstHostSteps(ctx)
	if err != nil {
		return nil, err
	}
	steps := append([]step.Step{upgraderecord.RecordStep(u.record), repeatUntilChanged(u.baselineStep(), upgraderecord.RecordedChange)}, nodesteps.RegistrySteps(s, u.view, u.trusted, u.p)...)
	steps = append(steps, join.MaterialStep(s, u.view.Top()), images)
	if others := u.others(); len(others) > 0 {
		steps = append(steps, u.prepareStep(others))
	}
	steps = append(steps, repeatUntilChanged(upgraderecord.BackupBefore(u.record.To.ID), upgraderecord.RecordedChange), u.ofFirstHost(u.changedStep())[0],
		u.shareStep("share-begin", "Record the upgrade in the cluster, for the other control-plane hosts"))
	steps = append(append(steps, u.ofFirstHost(own...)...), u.timed(s.Node, u.compareStep(s.Node.Name, "after "+s.Node.Name)))
	u.pace.todo = u.notUpgraded(s.Node)
	var workers []config.Node
	for _, n := range u.others() {
		if !n.Has(config.ControlPlane) {
			workers = append(workers, n)
			continue
		}
		u.pace.todo = append(u.pace.todo, u.notUpgraded(n)...)
		steps = append(steps, u.hostStep(n), u.timed(n, u.compareStep(n.Name, "after "+n.Name)))
	}
	batches, whole, err := u.workerSteps(workers)
	if err != nil {
		return nil, err
	}
	steps = append(append(steps, kubeadmPart(s, true).KubeProxy()), batches...)
	if !whole {
		return steps, nil
	}
	last := append(install.ClusterSteps(s, u.view, u.p), u.compareStep("", "at the end"), u.endStep(),
		u.shareStep("share-end", "Record the end of the upgrade in the cluster"))
	return append(steps, afterWorkers(&u.rollout, last)...), nil
}

// notUpgraded returns the name of a host that is not upgraded yet.
func (u *upgrade) notUpgraded(n config.Node) []string {
	if node, joined := u.nodes[n.Name]; joined && u.upgraded(&node) != nil {
		return []string{n.Name}
	}
	return nil
}

// baselineStep returns the step that records the state of the cluster, including unhealthy workloads of
// the site: the upgrade is not the cause of those.
func (u *upgrade) baselineStep() step.Step {
	return step.Step{
		Name: "baseline", Title: "Record the state of the cluster before the upgrade",
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
			modes := verification.Modes{Baseline: verification.SaveBaseline, File: upgraderecord.UpgradeBaselineFile}
			cluster, err := modes.Cluster(ctx, u.client, nil)
			if err != nil {
				return err
			}
			return modes.Save(report, cluster, u.p)
		},
	}
}

// repeatUntilChanged returns a step that records the state before the upgrade. It runs again in each run
// until the first host is changed, because the previous run may be days old.
func repeatUntilChanged(s step.Step, changed func() (bool, error)) step.Step {
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

// changedStep returns the step that records, before the first change of a host, that a rollback has a host
// to restore, and the names of the cordoned nodes. After this step the upgrade cordons nodes.
func (u *upgrade) changedStep() step.Step {
	return step.Step{
		Name: "upgrade-begins", Title: "Record that the first host will be changed",
		Done: func(context.Context) (bool, error) { return upgraderecord.RecordedChange() },
		Run: func(ctx context.Context) error {
			if err := u.readNodes(ctx); err != nil { // the preparation of other hosts may have taken days
				return err
			}
			if err := u.noteRan(ctx, u.site.Node.Name); err != nil { // it may be changed without a drain
				return err
			}
			return upgraderecord.Note(func(r *upgraderecord.Record) { r.Change(u.record.Cordoned, u.haveBackups(), time.Now()) })
		},
	}
}

// compareStep returns the step that compares the cluster once with its state before the upgrade. host is
// the node that was upgraded before, or the label of a batch; "" is the end.
func (u *upgrade) compareStep(host, when string) step.Step {
	return step.Step{
		Name: compareName + host, Title: "Compare the cluster with its state before the upgrade, " + when,
		Once: u.record.UpgradeName(), Run: u.compareAfter(host),
	}
}

// compareName is the prefix of the names of steps that compare the cluster.
const compareName = "compare-"

func (u *upgrade) endStep() step.Step {
	return step.Step{
		Name: "upgrade-ends", Title: "Record that the upgrade is finished",
		Done: func(context.Context) (bool, error) {
			r, err := upgraderecord.Read()
			return !r.Ended.IsZero(), err
		},
		Run: func(context.Context) error {
			return upgraderecord.Note(func(r *upgraderecord.Record) { r.Ended = time.Now().UTC() })
		},
	}
}
