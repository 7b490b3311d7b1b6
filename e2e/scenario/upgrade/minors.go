package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

// afterEdits selects the minor version after the one that scenarios install.
func afterEdits() []string { return []string{`version: "1.36.3"`, `version: "1.37.2"`} }

// Minors upgrades a cluster through all three minor versions that can be installed, one at a
// time as kubeadm requires, and rolls back, also to an earlier minor of etcd. A host loses
// power during its own upgrade. The bundle of the last minor is a delta.
func Minors(ctx context.Context, e *scenario.Env) error {
	if err := errors.Join(upstream.BuildBefore(ctx, e.Cache, e.Log), upstream.BuildAfter(ctx, e.Cache, e.Log)); err != nil {
		return err
	}
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		before := Upgrading{E: e, L: l, Edits: overSSH()}
		after := Upgrading{E: e, L: l, Edits: slices.Concat(overSSH(), afterEdits())}
		reconfigured := Upgrading{E: e, L: l, Edits: slices.Concat(after.Edits, morePods())}
		invalid := Upgrading{E: e, L: l, Edits: slices.Concat(after.Edits, unreadableFlag())}
		return e.InOrder([]scenario.Part{
			{Title: "a cluster of Kubernetes 1.35", Run: func() error { return before.cluster(ctx) }},
			{Title: "a bundle two minors ahead", Run: func() error { return after.bundleIn(ctx, "ahead") }},
			{Title: "an upgrade by two minors is refused", Run: func() error {
				return after.refused(ctx, "a cluster goes up one minor at a time: 1.36 comes next", "build a bundle with kubernetes.version 1.36")
			}},
			{Title: "the bundle of the minor between", Run: func() error { return before.NextBundle(ctx) }},
			{Title: "a delta against it, before the cluster has it", Run: func() error {
				after.base = before.next
				return after.bundleIn(ctx, "early")
			}},
			{Title: "an upgrade without the delta's base is refused", Run: func() error { return after.refused(ctx, "requires", "the files are in bundle bank") }},
			{Title: "upgrade to 1.36", Run: func() error { return errors.Join(before.plugIn(ctx), before.upgrade(ctx)) }},
			{Title: "the delta with 1.37", Run: func() error { return after.bundleIn(ctx, "after") }},
			{Title: "upgrade to 1.37", Run: func() error { return after.from(ctx, "1.36.3", "1.37.2") }},
			{Title: "every host has the new versions", Run: func() error { return after.versions(ctx, "1.37.2", "2.3.7") }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, l.Machines[0]) }},
			{Title: "a workload", Run: func() error { return e.Workload(ctx, l.Machines[0]) }},
			{Title: "rollback to 1.36", Run: func() error { return errors.Join(after.backTo(ctx, "1.36.3", "2.3.7"), e.Verified(ctx, l.Machines[0])) }},
			{Title: "upgrade to 1.37, and the worker stays down", Run: func() error { return workerLost(ctx, &after, l.Machines[1]) }},
			{Title: "upgrade to 1.37, by the same command", Run: func() error { return after.from(ctx, "1.36.3", "1.37.2") }},
			{Title: "every host has the new versions, again", Run: func() error { return after.versions(ctx, "1.37.2", "2.3.7") }},
			{Title: "the bundle with another configuration", Run: func() error { return reconfigured.bundleIn(ctx, "otherwise") }},
			{Title: "upgrade to it, and a workload breaks during the upgrade", Run: func() error { return workloadBreaks(ctx, &reconfigured) }},
			{Title: "upgrade to it, by the same command", Run: func() error { return reconfigured.from(ctx, "1.37.2", "1.37.2") }},
			{Title: "rollback within 1.37", Run: func() error {
				return errors.Join(reconfigured.backTo(ctx, "1.37.2", "2.3.7"), e.Verified(ctx, l.Machines[0]))
			}},
			{Title: "the bundle with an API server that does not start", Run: func() error { return invalid.bundleIn(ctx, "broken") }},
			{Title: "upgrade to it", Run: func() error { return serverFails(ctx, &invalid) }},
			{Title: "rollback from it", Run: func() error {
				return errors.Join(invalid.backTo(ctx, "1.37.2", "2.3.7"), e.Verified(ctx, l.Machines[0]))
			}},
		})
	})
}

// workerLost cuts the power of a host when its upgraded kubelet starts. The upgrade must wait
// for the host, and then fail with an error that names it. Afterwards the host starts again.
func workerLost(ctx context.Context, u *Upgrading, m lab.Machine) error {
	g, at := errgroup.WithContext(ctx)
	g.Go(func() error {
		r, err := u.E.On(at, u.first(), "", Command()...)
		if err != nil {
			return err
		}
		return r.Want("upgrade without "+m.Name(), 1, m.Name()+": wait 10m0s for the host to come back: ", "run the same command again", "roll back the upgrade: airgap rollback")
	})
	g.Go(func() error {
		const begins = `count() { grep -c '"step":"kubelet-upgrade","event":"began"' /var/lib/airgap/journal.jsonl; }
n=$(count); until [ $(count) -gt $n ]; do sleep 0.1; done`
		if err := u.E.Script(at, m, begins); err != nil {
			return err
		}
		return m.Kill(at)
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return m.Start(ctx)
}

// workloadBreaks breaks a workload between the comparison after the first host and that after
// the second. The upgrade must fail there and name the workload. It must continue after the repair.
func workloadBreaks(ctx context.Context, u *Upgrading) error {
	if err := u.E.Script(ctx, u.first(), scenario.Kubectl+"create deployment checkout --image=docker.io/library/hello:1.0", scenario.Kubectl+"rollout status deploy/checkout --timeout=120s"); err != nil {
		return err
	}
	g, at := errgroup.WithContext(ctx)
	g.Go(func() error {
		r, err := u.E.On(at, u.first(), "", Command("--timeout", "1m")...)
		if err != nil {
			return err
		}
		return r.Want("upgrade under a workload that breaks", 4, "default/checkout", "run the same command again", "roll back the upgrade: airgap rollback")
	})
	g.Go(func() error {
		const compared = `count() { grep -c '"step":"compare-node1","event":"ended"' /var/lib/airgap/journal.jsonl; }
n=$(count); until [ $(count) -gt $n ]; do sleep 0.1; done`
		return u.E.Script(at, u.first(), compared, scenario.Kubectl+"set image deploy/checkout hello=docker.io/library/hello:0")
	})
	return errors.Join(g.Wait(), u.E.Script(ctx, u.first(),
		`! tac /var/lib/airgap/journal.jsonl | sed '/"step":"upgrade-begins"/q' | grep '"step":"upgrade-ends"'`,
		scenario.Kubectl+"rollout undo deploy/checkout", scenario.Kubectl+"rollout status deploy/checkout --timeout=120s"))
}

// unreadableFlag sets an argument with which the API server does not start: airgap checks the
// names of arguments, not their values. It also shortens kubeadm's wait of five minutes.
func unreadableFlag() []string {
	return []string{"    kubeProxy:\n", "    clusterConfiguration:\n      apiServer:\n        extraArgs: [{name: event-ttl, value: soon}]\n    timeouts: {upgradeManifests: 1m0s}\n    kubeProxy:\n"}
}

// serverFails upgrades to an API server that does not start. The error must have the last log
// line of the API server, and the rollback command.
func serverFails(ctx context.Context, u *Upgrading) error {
	r, err := u.E.On(ctx, u.first(), "", Command()...)
	if err != nil {
		return err
	}
	fmt.Fprint(u.E.Log, r.Stderr)
	return r.Want("upgrade to an API server that does not start", 1, "kube-apiserver has exited; its last log lines", "event-ttl", "roll back the upgrade: airgap rollback")
}
