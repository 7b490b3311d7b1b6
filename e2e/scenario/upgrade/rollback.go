package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

// brokenOff are the steps of an upgrade in the midst of which it is killed, in its
// order: what has to be taken back is another thing after each.
func brokenOff() []string {
	return []string{
		"prepare",         // no host is changed yet
		"kubeadm-upgrade", // static pods are being exchanged
		"packages",        // the API server is the new one, the kubelet is not
		"kubelet-upgrade", // the first host is all but done
		"upgrade-node2",   // the worker
		"compare-",        // all hosts are done
	}
}

// Rollback breaks an upgrade off in each of its phases and takes it back: the cluster
// is what it was, with what was written before.
func Rollback(ctx context.Context, e *scenario.Env) error {
	if err := upstream.BuildBefore(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	return e.Bank(ctx, 2, func(l *lab.Lab) error {
		u := Upgrading{E: e, L: l, Edits: overSSH()}
		parts := []scenario.Part{
			{Title: "a cluster of Kubernetes 1.35", Run: func() error { return u.cluster(ctx) }},
			{Title: "the next bundle, by what the servers have now", Run: func() error { return u.NextBundle(ctx) }},
			{Title: "nothing to take back", Run: func() error { return u.nothingToTakeBack(ctx) }},
		}
		for i, step := range brokenOff() {
			parts = append(parts,
				scenario.Part{Title: "killed during " + step, Run: func() error { return u.KilledAmid(ctx, i, step) }},
				scenario.Part{Title: "taken back", Run: func() error { return u.takenBack(ctx, i) }})
		}
		last := len(parts) - 1 // the way back that is killed itself, for it is the longest
		parts = slices.Insert(parts, last, scenario.Part{Title: "killed while it is taken back", Run: func() error { return u.wayBackKilled(ctx) }})
		return e.InOrder(append(parts,
			scenario.Part{Title: "as after a power cut during kubeadm-upgrade", Run: func() error { return u.torn(ctx) }},
			scenario.Part{Title: "upgrade, all the way", Run: func() error { return u.upgrade(ctx, "etcd.yaml: restored", "kube-apiserver.yaml: restored") }},
			scenario.Part{Title: "every host has the new versions", Run: func() error { return u.versions(ctx, "1.36.3", "2.3.7") }},
			scenario.Part{Title: "another configuration, the same way", Run: func() error { return u.reconfigured(ctx) }},
			scenario.Part{Title: "verify", Run: func() error { return e.Verified(ctx, u.first()) }},
			scenario.Part{Title: "taken back by hand", Run: func() error { return u.backByHand(ctx) }},
			scenario.Part{Title: "killed on the worker, between kubeadm and the kubelet", Run: func() error { return u.halfAWorker(ctx) }},
			scenario.Part{Title: "taken back", Run: func() error {
				return errors.Join(u.backTo(ctx, "1.36.3", "2.3.7"), u.fewerPods(ctx), e.Verified(ctx, u.first()))
			}},
		))
	})
}

func (u *Upgrading) nothingToTakeBack(ctx context.Context) error {
	r, err := u.E.On(ctx, u.first(), "", "airgap", "rollback", "--yes")
	if err != nil {
		return err
	}
	return r.Want("rollback without an upgrade", 1, "this host has no record of one")
}

// KilledAmid writes something into the cluster, begins the upgrade, and ends it by
// kill -9 when a step has begun.
func (u *Upgrading) KilledAmid(ctx context.Context, round int, step string) error {
	if err := u.E.Script(ctx, u.first(), fmt.Sprintf(scenario.Kubectl+"create configmap before-%d --from-literal=a=b", round)); err != nil {
		return err
	}
	return u.killedWhen(ctx, fmt.Sprintf(`grep -c '"step":"%s","event":"began"' /var/lib/airgap/journal.jsonl`, step))
}

// killedWhen begins the upgrade, and ends it by kill -9 two seconds after a command
// counts more than it did before.
func (u *Upgrading) killedWhen(ctx context.Context, counts string) error {
	return u.endedWhen(ctx, counts, Command()...)
}

// endedWhen is killedWhen for any command.
func (u *Upgrading) endedWhen(ctx context.Context, counts string, command ...string) error {
	const begin = `rm -f /run/up.*; count() { %[1]s; }; n=$(count)
%[2]s >/run/up.out 2>/run/up.err </dev/null & p=$!
until [ $(count) -gt $n ]; do kill -0 $p || { cat /run/up.err >&2; exit 1; }; sleep 0.1; done
sleep 2; kill -9 $p; wait $p; echo killed`
	_, err := u.E.Must(ctx, u.first(), []string{"killed"}, "sh", "-c", fmt.Sprintf(begin, counts, strings.Join(command, " ")))
	return err
}

// torn ends the upgrade and kubeadm with it, and leaves what a power cut left in scenario
// cgroupv2: a manifest without a byte, and one between two names.
func (u *Upgrading) torn(ctx context.Context) error {
	return errors.Join(
		u.KilledAmid(ctx, len(brokenOff()), "kubeadm-upgrade"),
		u.E.Script(ctx, u.first(), "pkill -9 -x kubeadm; cd /etc/kubernetes/manifests && : >etcd.yaml && rm -f kube-apiserver.yaml"))
}

// wayBackKilled begins to take the upgrade back, and ends that by kill -9: as the control plane
// leaves, as it is restored, and as the worker comes back.
func (u *Upgrading) wayBackKilled(ctx context.Context) error {
	for _, step := range []string{"rollback-stand-down", "kubeadm", "rollback-back-node2"} {
		if err := u.endedWhen(ctx, fmt.Sprintf(`grep -c '"step":"%s","event":"began"' /var/lib/airgap/journal.jsonl`, step), u.rollbackCommand()...); err != nil {
			return fmt.Errorf("during %s: %w", step, err)
		}
	}
	return nil
}

// overSSH is an edit by which the first host reaches the others.
func overSSH() []string {
	return []string{"roles: [worker]}\n", "roles: [worker]}\nssh:\n  identityFile: ~/.ssh/bank\n"}
}

// takenBack wants what was written before the upgrade to be there.
func (u *Upgrading) takenBack(ctx context.Context, round int) error {
	return errors.Join(
		u.backTo(ctx, "1.35.8", "1.7.35"),
		u.E.Script(ctx, u.first(), fmt.Sprintf(scenario.Kubectl+"get configmap before-%d", round)),
		u.E.Verified(ctx, u.first()))
}

// backTo takes the last upgrade back, to these versions of Kubernetes and containerd.
func (u *Upgrading) backTo(ctx context.Context, kubernetes, containerd string) error {
	r, err := u.E.On(ctx, u.first(), "", u.rollbackCommand()...)
	if err != nil {
		return err
	}
	fmt.Fprint(u.E.Log, r.Stderr)
	if err := r.Want("rollback", 0, "rolled back to Kubernetes "+kubernetes); err != nil {
		return err
	}
	return u.versions(ctx, kubernetes, containerd)
}

// morePods is an edit of how kubelets are configured.
func morePods() []string {
	return []string{"      failCgroupV1: false\n", "      failCgroupV1: false\n      maxPods: 77\n"}
}

// reconfigured upgrades to a bundle with the same versions, whose kubelets and API
// server are configured otherwise, with nobody who reaches the worker through SSH.
func (u *Upgrading) reconfigured(ctx context.Context) error {
	u.Edits = append(u.Edits, append(morePods(), "  ignorePreflightErrors:", "  audit: {maxAge: 7}\n  ignorePreflightErrors:")...)
	if err := u.bundleIn(ctx, "otherwise"); err != nil {
		return err
	}
	r, err := u.E.On(ctx, u.first(), "", scenario.FleetInstall()...)
	if err != nil {
		return err
	}
	if err := r.Want("install of another configuration", 1, "different configuration of Kubernetes 1.36.3", "airgap upgrade"); err != nil {
		return err
	}
	other := u.L.Machines[1]
	if err := errors.Join(u.E.Begin(ctx, other, u.next), other.PullStick(ctx)); err != nil {
		return err
	}
	if err := u.byHand(ctx, Command("--no-ssh"), []bool{true, false}, "node1 is the only control-plane host", "upgraded from Kubernetes 1.36.3 to 1.36.3"); err != nil {
		return err
	}
	return u.E.Script(ctx, u.first(), fmt.Sprintf(hasPods, "node1", 77), fmt.Sprintf(hasPods, "node2", 77), "pgrep -af '^kube-apiserver ' | grep -q -- '--audit-log-maxage=7'")
}

// hasPods asks a node's kubelet whether it runs by a maximum of pods.
const hasPods = scenario.Kubectl + "get --raw /api/v1/nodes/%s/proxy/configz | grep -q '\"maxPods\":%d'"

// fewerPods wants both hosts, what their kubelets run by and what they would start by, to be
// as before morePods: with the kubelet's default.
func (u *Upgrading) fewerPods(ctx context.Context) error {
	var all []error
	for _, m := range u.L.Machines {
		all = append(all,
			u.E.Script(ctx, u.first(), fmt.Sprintf(hasPods, m.Name(), 110)),
			u.E.Script(ctx, m, "! grep maxPods /var/lib/kubelet/config.yaml", "! test -e "+halfUpgraded))
	}
	return errors.Join(all...)
}

// backByHand takes the other configuration back with nobody who reaches the worker through
// SSH. The versions are the same, so nothing but the worker's own word tells that it is back.
func (u *Upgrading) backByHand(ctx context.Context) error {
	err := u.byHand(ctx, append(u.rollbackCommand(), "--no-ssh"), []bool{false}, "rolled back to Kubernetes 1.36.3")
	return errors.Join(err, u.fewerPods(ctx), u.E.Verified(ctx, u.first()))
}

// halfUpgraded is there while kubeadm has done its part of an upgrade and the kubelet has not.
const halfUpgraded = "/var/lib/airgap/kubeadm.upgraded"

// halfAWorker begins the upgrade to the other configuration again, and ends it on both hosts
// when kubeadm has done its part on the worker.
func (u *Upgrading) halfAWorker(ctx context.Context) error {
	group, at := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := u.E.Must(at, u.first(), []string{"killed"}, append([]string{"sh", "-c", `"$@"; [ $? = 137 ] && echo killed`, "sh"}, Command()...)...)
		return err
	})
	group.Go(func() error {
		const half = "until test -s " + halfUpgraded + "; do sleep 0.05; done; pkill -9 -f '[a]irgap upgrade node '"
		return errors.Join(
			u.E.Script(at, u.L.Machines[1], half),
			u.E.Script(at, u.first(), "pkill -9 -f '^airgap upgrade '"),
			u.E.Script(at, u.L.Machines[1], "sleep 4; test -s "+halfUpgraded))
	})
	return group.Wait()
}

// byHand runs a command as a site without SSH between its servers does: the first host says
// what to run on the other one, each time with --prepare or not, and goes on when that is done.
func (u *Upgrading) byHand(ctx context.Context, command []string, prepares []bool, words ...string) error {
	other := u.L.Machines[1]
	if err := u.E.Script(ctx, u.first(), ": >/run/up.err"); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		const run = `"$@" 2>/run/up.err; code=$?; cat /run/up.err >&2; exit $code`
		_, err := u.E.Must(ctx, u.first(), words, append([]string{"sh", "-c", run, "sh"}, command...)...)
		return err
	})
	group.Go(func() error {
		const told = "until sed -n 's/^ *airgap \\(join\\|upgrade node\\) /\\1 /p' /run/up.err | sed -n %dp | grep .; do sleep 1; done"
		for turn, prepare := range prepares {
			r, err := u.E.Must(ctx, u.first(), nil, "sh", "-c", fmt.Sprintf(told, turn+1))
			if err != nil {
				return err
			}
			line := append([]string{"airgap"}, strings.Fields(r.Stdout)...)
			if slices.Contains(line, "--prepare") != prepare {
				return fmt.Errorf("line %d is %q", turn+1, line)
			}
			if _, err := u.E.Must(ctx, other, nil, append(line, u.E.Skips())...); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}
