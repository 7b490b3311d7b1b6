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

// killedSteps returns the steps of an upgrade during which it is killed, in their order. After
// each of them, a rollback must undo other changes.
func killedSteps() []string {
	return []string{
		"prepare",         // no host is changed yet
		"kubeadm-upgrade", // kubeadm replaces static pods
		"packages",        // the API server is the new one, the kubelet is not
		"kubelet-upgrade", // the first host is nearly done
		"upgrade-node2",   // the worker
		"compare-",        // all hosts are done
	}
}

// Rollback kills an upgrade in each of its phases and rolls it back. The cluster must have its
// earlier versions, and the objects that were written before the upgrade.
func Rollback(ctx context.Context, e *scenario.Env) error {
	if err := upstream.BuildBefore(ctx, e.Cache, e.Log); err != nil {
		return err
	}
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		u := Upgrading{E: e, L: l, Edits: overSSH()}
		parts := []scenario.Part{
			{Title: "a cluster of Kubernetes 1.35", Run: func() error { return u.cluster(ctx) }},
			{Title: "the next bundle, from the servers' present state", Run: func() error { return u.NextBundle(ctx) }},
			{Title: "nothing to roll back", Run: func() error { return u.nothingToRollBack(ctx) }},
		}
		for i, step := range killedSteps() {
			parts = append(parts,
				scenario.Part{Title: "killed during " + step, Run: func() error { return u.KilledDuring(ctx, i, step) }},
				scenario.Part{Title: "rollback", Run: func() error { return u.rolledBack(ctx, i) }})
		}
		last := len(parts) - 1 // this rollback is the longest, so it is killed, too
		parts = slices.Insert(parts, last, scenario.Part{Title: "killed during the rollback", Run: func() error { return u.rollbackKilled(ctx) }})
		return e.InOrder(append(parts,
			scenario.Part{Title: "as after a power cut during kubeadm-upgrade", Run: func() error { return u.incompleteManifests(ctx) }},
			scenario.Part{Title: "upgrade, to the end", Run: func() error { return u.upgrade(ctx, "etcd.yaml: restored", "kube-apiserver.yaml: restored") }},
			scenario.Part{Title: "every host has the new versions", Run: func() error { return u.versions(ctx, "1.36.3", "2.3.7") }},
			scenario.Part{Title: "upgrade to another configuration", Run: func() error { return u.reconfigured(ctx) }},
			scenario.Part{Title: "verify", Run: func() error { return e.Verified(ctx, u.first()) }},
			scenario.Part{Title: "rollback without SSH", Run: func() error { return u.rollbackWithoutSSH(ctx) }},
			scenario.Part{Title: "killed on the worker, between kubeadm and the kubelet", Run: func() error { return u.killedOnWorker(ctx) }},
			scenario.Part{Title: "rollback", Run: func() error {
				return errors.Join(u.backTo(ctx, "1.36.3", "2.3.7"), u.defaultMaxPods(ctx), e.Verified(ctx, u.first()))
			}},
		))
	})
}

func (u *Upgrading) nothingToRollBack(ctx context.Context) error {
	r, err := u.E.On(ctx, u.first(), "", "airgap", "rollback", "--yes")
	if err != nil {
		return err
	}
	return r.Want("rollback without an upgrade", 1, "this host has no record of one")
}

// KilledDuring creates an object in the cluster, starts the upgrade, and kills it with
// kill -9 when a step has begun.
func (u *Upgrading) KilledDuring(ctx context.Context, round int, step string) error {
	if err := u.E.Script(ctx, u.first(), fmt.Sprintf(scenario.Kubectl+"create configmap before-%d --from-literal=a=b", round)); err != nil {
		return err
	}
	return u.killedWhen(ctx, fmt.Sprintf(`grep -c '"step":"%s","event":"began"' /var/lib/airgap/journal.jsonl`, step))
}

// killedWhen starts the upgrade, and kills it with kill -9 two seconds after the number that
// the shell command counts prints has increased.
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

// incompleteManifests kills the upgrade and kubeadm, and leaves the manifests in the state that
// a power cut left in scenario cgroupv2: an empty one, and a missing one that kubeadm was moving.
func (u *Upgrading) incompleteManifests(ctx context.Context) error {
	return errors.Join(
		u.KilledDuring(ctx, len(killedSteps()), "kubeadm-upgrade"),
		u.E.Script(ctx, u.first(), "pkill -9 -x kubeadm; cd /etc/kubernetes/manifests && : >etcd.yaml && rm -f kube-apiserver.yaml"))
}

// rollbackKilled starts the rollback and kills it with kill -9: while the control plane stops,
// while it is restored, and while the worker is restored.
func (u *Upgrading) rollbackKilled(ctx context.Context) error {
	for _, step := range []string{"rollback-stand-down", "kubeadm", "rollback-back-node2"} {
		if err := u.endedWhen(ctx, fmt.Sprintf(`grep -c '"step":"%s","event":"began"' /var/lib/airgap/journal.jsonl`, step), u.rollbackCommand()...); err != nil {
			return fmt.Errorf("during %s: %w", step, err)
		}
	}
	return nil
}

// overSSH returns the edits that let the first host reach the others through SSH.
func overSSH() []string {
	return []string{"roles: [worker]}\n", "roles: [worker]}\nssh:\n  identityFile: ~/.ssh/bank\n"}
}

// rolledBack rolls back, and checks that the object from before the upgrade exists.
func (u *Upgrading) rolledBack(ctx context.Context, round int) error {
	return errors.Join(
		u.backTo(ctx, "1.35.8", "1.7.35"),
		u.E.Script(ctx, u.first(), fmt.Sprintf(scenario.Kubectl+"get configmap before-%d", round)),
		u.E.Verified(ctx, u.first()))
}

// backTo rolls the last upgrade back, and checks the versions of Kubernetes and containerd.
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

// morePods returns the edits that set maxPods of kubelets.
func morePods() []string {
	const shared = "      # The servers share the outer machine's disk.\n"
	return []string{shared, "      maxPods: 77\n" + shared}
}

// reconfigured upgrades to a bundle with the same versions and another configuration of
// kubelets and API server. It does not use SSH to the worker.
func (u *Upgrading) reconfigured(ctx context.Context) error {
	u.Edits = append(u.Edits, append(morePods(), "  ignorePreflightErrors:", "  audit: {maxAge: 7}\n  ignorePreflightErrors:")...)
	if err := u.bundleIn(ctx, "otherwise"); err != nil {
		return err
	}
	r, err := u.E.On(ctx, u.first(), "", scenario.InstallOverSSH()...)
	if err != nil {
		return err
	}
	if err := r.Want("install of another configuration", 1, "different configuration of Kubernetes 1.36.3", "airgap upgrade"); err != nil {
		return err
	}
	other := u.L.Machines[1]
	if err := errors.Join(u.E.InstallProgram(ctx, other, u.next), other.PullStick(ctx)); err != nil {
		return err
	}
	if err := u.byHand(ctx, Command("--no-ssh"), []bool{true, false}, "node1 is the only control-plane host", "upgraded from Kubernetes 1.36.3 to 1.36.3"); err != nil {
		return err
	}
	return u.E.Script(ctx, u.first(), fmt.Sprintf(hasPods, "node1", 77), fmt.Sprintf(hasPods, "node2", 77), "pgrep -af '^kube-apiserver ' | grep -q -- '--audit-log-maxage=7'")
}

// hasPods checks the maximum of pods in the running configuration of a node's kubelet.
const hasPods = scenario.Kubectl + "get --raw /api/v1/nodes/%s/proxy/configz | grep -q '\"maxPods\":%d'"

// defaultMaxPods checks that the kubelets of both hosts use the default maximum of pods again: in
// their running configuration and in their file.
func (u *Upgrading) defaultMaxPods(ctx context.Context) error {
	var all []error
	for _, m := range u.L.Machines {
		all = append(all,
			u.E.Script(ctx, u.first(), fmt.Sprintf(hasPods, m.Name(), 110)),
			u.E.Script(ctx, m, "! grep maxPods /var/lib/kubelet/config.yaml", "! test -e "+halfUpgraded))
	}
	return errors.Join(all...)
}

// rollbackWithoutSSH rolls the other configuration back without SSH to the worker. The versions are
// the same, so only the worker's own report shows the end of its rollback.
func (u *Upgrading) rollbackWithoutSSH(ctx context.Context) error {
	err := u.byHand(ctx, append(u.rollbackCommand(), "--no-ssh"), []bool{false}, "rolled back to Kubernetes 1.36.3")
	return errors.Join(err, u.defaultMaxPods(ctx), u.E.Verified(ctx, u.first()))
}

// halfUpgraded exists from the end of kubeadm's part of an upgrade to the end of the kubelet's part.
const halfUpgraded = "/var/lib/airgap/kubeadm.upgraded"

// killedOnWorker starts the upgrade to the other configuration again, and kills it on both hosts
// when kubeadm has done its part on the worker.
func (u *Upgrading) killedOnWorker(ctx context.Context) error {
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

// byHand runs a command as a site without SSH between its servers does. The first host prints the
// command lines for the other host, each with or without --prepare, and continues after each.
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
		const nextLine = "until sed -n 's/^ *airgap \\(join\\|upgrade node\\) /\\1 /p' /run/up.err | sed -n %dp | grep .; do sleep 1; done"
		for turn, prepare := range prepares {
			r, err := u.E.Must(ctx, u.first(), nil, "sh", "-c", fmt.Sprintf(nextLine, turn+1))
			if err != nil {
				return err
			}
			line := append([]string{"airgap"}, strings.Fields(r.Stdout)...)
			if slices.Contains(line, "--prepare") != prepare {
				return fmt.Errorf("line %d is %q, want --prepare in it: %t", turn+1, line, prepare)
			}
			if _, err := u.E.Must(ctx, other, nil, append(line, u.E.Skips())...); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}
