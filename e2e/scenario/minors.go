package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/upstream"
)

// afterEdits choose the minor after the one that scenarios install.
func afterEdits() []string { return []string{`version: "1.36.3"`, `version: "1.37.2"`} }

// minors takes a cluster through all three minors that can be installed, one after the
// other, since kubeadm goes up one at a time; and back, over a minor of etcd, too. On the
// way a host dies amid its own upgrade. The last minor comes as a delta against the one before.
func minors(ctx context.Context, e *Env) error {
	if err := errors.Join(upstream.BuildBefore(ctx, e.Cache, e.Log), upstream.BuildAfter(ctx, e.Cache, e.Log)); err != nil {
		return err
	}
	return e.Bank(ctx, 2, func(l *lab.Lab) error {
		before := upgrading{e: e, l: l, edits: overSSH()}
		after := upgrading{e: e, l: l, edits: slices.Concat(overSSH(), afterEdits())}
		otherwise := upgrading{e: e, l: l, edits: slices.Concat(after.edits, morePods())}
		broken := upgrading{e: e, l: l, edits: slices.Concat(after.edits, unreadableFlag())}
		return e.inOrder([]part{
			{"a cluster of Kubernetes 1.35", func() error { return before.cluster(ctx) }},
			{"a bundle two minors ahead", func() error { return after.bundleIn(ctx, "ahead") }},
			{"it is refused", func() error {
				return after.refused(ctx, "a cluster goes up one minor at a time: 1.36 comes next", "build a bundle with kubernetes.version 1.36")
			}},
			{"the bundle between", func() error { return before.nextBundle(ctx) }},
			{"a delta against it, which is not there yet", func() error {
				after.base = before.next
				return after.bundleIn(ctx, "early")
			}},
			{"it is refused", func() error { return after.refused(ctx, "needs", "bundle bank brought them") }},
			{"upgrade to 1.36", func() error { return errors.Join(before.insert(ctx), before.upgrade(ctx)) }},
			{"the delta after", func() error { return after.bundleIn(ctx, "after") }},
			{"upgrade to 1.37", func() error { return after.from(ctx, "1.36.3", "1.37.2") }},
			{"every host has the new versions", func() error { return after.versions(ctx, "1.37.2", "2.3.7") }},
			{"verify", func() error { return e.verified(ctx, l.Machines[0]) }},
			{"a workload", func() error { return e.workload(ctx, l.Machines[0]) }},
			{"taken back to 1.36", func() error { return errors.Join(after.backTo(ctx, "1.36.3", "2.3.7"), e.verified(ctx, l.Machines[0])) }},
			{"again, and the worker does not come back", func() error { return after.loses(ctx, l.Machines[1]) }},
			{"upgrade to 1.37, by the same command", func() error { return after.from(ctx, "1.36.3", "1.37.2") }},
			{"every host has the new versions, again", func() error { return after.versions(ctx, "1.37.2", "2.3.7") }},
			{"the bundle with another configuration", func() error { return otherwise.bundleIn(ctx, "otherwise") }},
			{"upgrade to it, and a workload breaks on the way", func() error { return otherwise.breaks(ctx) }},
			{"upgrade to it, by the same command", func() error { return otherwise.from(ctx, "1.37.2", "1.37.2") }},
			{"taken back within 1.37", func() error {
				return errors.Join(otherwise.backTo(ctx, "1.37.2", "2.3.7"), e.verified(ctx, l.Machines[0]))
			}},
			{"the bundle with an API server that does not start", func() error { return broken.bundleIn(ctx, "broken") }},
			{"upgrade to it", func() error { return broken.broken(ctx) }},
			{"taken back from it", func() error {
				return errors.Join(broken.backTo(ctx, "1.37.2", "2.3.7"), e.verified(ctx, l.Machines[0]))
			}},
		})
	})
}

// loses cuts the power of a host as its upgraded kubelet starts, and wants the upgrade to
// wait for it, then to end and say so. The host is back afterwards.
func (u *upgrading) loses(ctx context.Context, m lab.Machine) error {
	g, at := errgroup.WithContext(ctx)
	g.Go(func() error {
		r, err := u.e.On(at, u.first(), "", upgradeCommand()...)
		if err != nil {
			return err
		}
		return r.want("upgrade without "+m.Name(), 1, m.Name()+": wait 10m0s for the host to come back: ", "run the same command again", "airgap rollback takes the upgrade back")
	})
	g.Go(func() error {
		const begins = `count() { grep -c '"step":"kubelet-upgrade","event":"began"' /var/lib/airgap/journal.jsonl; }
n=$(count); until [ $(count) -gt $n ]; do sleep 0.1; done`
		if err := u.e.script(at, m, begins); err != nil {
			return err
		}
		return m.Kill(at)
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return m.Start(ctx)
}

// breaks has a workload's pods stop working between the comparison after the first host and
// that after the second: the upgrade ends there and names it, and once it is mended goes on.
func (u *upgrading) breaks(ctx context.Context) error {
	if err := u.e.script(ctx, u.first(), kubectl+"create deployment till --image=docker.io/library/hello:1.0", kubectl+"rollout status deploy/till --timeout=120s"); err != nil {
		return err
	}
	g, at := errgroup.WithContext(ctx)
	g.Go(func() error {
		r, err := u.e.On(at, u.first(), "", upgradeCommand("--timeout", "1m")...)
		if err != nil {
			return err
		}
		return r.want("upgrade beside a workload that breaks", 4, "default/till", "run the same command again", "airgap rollback takes the upgrade back")
	})
	g.Go(func() error {
		const compared = `count() { grep -c '"step":"compare-node1","event":"ended"' /var/lib/airgap/journal.jsonl; }
n=$(count); until [ $(count) -gt $n ]; do sleep 0.1; done`
		return u.e.script(at, u.first(), compared, kubectl+"set image deploy/till hello=docker.io/library/hello:0")
	})
	return errors.Join(g.Wait(), u.e.script(ctx, u.first(),
		`! tac /var/lib/airgap/journal.jsonl | sed '/"step":"upgrade-begins"/q' | grep '"step":"upgrade-ends"'`,
		kubectl+"rollout undo deploy/till", kubectl+"rollout status deploy/till --timeout=120s"))
}

// unreadableFlag is an edit that no API server starts with: airgap checks the names
// of arguments, not their values. kubeadm need not wait five minutes for it.
func unreadableFlag() []string {
	return []string{"    kubeProxy:\n", "    clusterConfiguration:\n      apiServer:\n        extraArgs: [{name: event-ttl, value: soon}]\n    timeouts: {upgradeManifests: 1m0s}\n    kubeProxy:\n"}
}

// broken upgrades to what kubeadm waits for in vain, and wants to be told, and the way back.
func (u *upgrading) broken(ctx context.Context) error {
	r, err := u.e.On(ctx, u.first(), "", upgradeCommand()...)
	if err != nil {
		return err
	}
	fmt.Fprint(u.e.Log, r.Stderr)
	return r.want("upgrade to an API server that does not start", 1, "kube-apiserver, which has ended, said last", "event-ttl", "airgap rollback takes the upgrade back")
}
