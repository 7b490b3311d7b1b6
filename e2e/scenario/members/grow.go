package members

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// smallEdits returns the edits that give the lab's airgap.yaml a control-plane host behind
// the load balancer, and a worker.
func smallEdits() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(scenario.Vip, 6443).String(),
		"roles: [worker]}\n", "roles: [worker]}\nssh:\n  identityFile: ~/.ssh/bank\n",
	}
}

// grownEdits adds two control-plane hosts and another worker to smallEdits.
func grownEdits() []string {
	return append(smallEdits(), "roles: [control-plane]}\n", `roles: [control-plane]}
  - {name: node3, address: 10.88.0.13, roles: [control-plane]}
  - {name: node4, address: 10.88.0.14, roles: [control-plane]}
  - {name: node5, address: 10.88.0.15, roles: [worker]}
`)
}

// Grow adds, replaces and removes hosts of a running cluster, while a program counts etcd's
// members.
func Grow(ctx context.Context, e *scenario.Env) error {
	stick, second := filepath.Join(e.Work, "stick"), filepath.Join(e.Work, "second")
	return e.WithServers(ctx, 5, func(l *lab.Lab) error {
		first, worker, third, fourth, fifth := l.Machines[0], l.Machines[1], l.Machines[2], l.Machines[3], l.Machines[4]
		stop, err := l.Balance(ctx, scenario.Vip, 6443, first, third, fourth)
		if err != nil {
			return err
		}
		defer stop() // the balancer ends with this process at the latest
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, smallEdits()...) }},
			{Title: "keys for the first host", Run: func() error { return e.AuthorizeKeys(ctx, first, l.Machines[1:]...) }},
			{Title: "two servers", Run: func() error { return scenario.InstallAll(ctx, e, first, stick, 2) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "counting etcd's members starts", Run: func() error { return countMembers(ctx, e, first) }},
			{Title: "a delta for five servers", Run: func() error { return growingBundle(ctx, e, stick, second) }},
			{Title: "three more servers", Run: func() error { return installGrown(ctx, e, first, second) }},
			{Title: "verify", Run: func() error {
				return errors.Join(e.Verified(ctx, first), membersAre(ctx, first, "node1", "node3", "node4"))
			}},
			{Title: "a budget that never allows", Run: func() error { return neverAllowed(ctx, e, first, worker) }},
			{Title: "a worker is removed", Run: func() error { return removeWorker(ctx, e, first, worker) }},
			{Title: "the worker joins again", Run: func() error { return errors.Join(scenario.JoinOne(ctx, e, first, worker), e.Verified(ctx, first)) }},
			{Title: "a host of the control plane is replaced", Run: func() error { return replaced(ctx, e, first, third, second) }},
			{Title: "another one is removed", Run: func() error { return removeControlPlane(ctx, e, first, fourth, third, fifth) }},
			{Title: "a dead worker is removed", Run: func() error { return removeDead(ctx, e, first, fifth) }},
			{Title: "the counts of etcd's members", Run: func() error { return counted(ctx, e, first) }},
			{Title: "the dead worker is started and reset", Run: func() error {
				return errors.Join(fifth.Start(ctx), e.Script(ctx, fifth, "airgap reset --yes"))
			}},
			{Title: "keys for the other control-plane host", Run: func() error { return e.AuthorizeKeys(ctx, third, first, worker) }},
			{Title: "the first host is removed", Run: func() error { return removeFirst(ctx, e, third, first, worker) }},
			{Title: "a worker is removed and joins again, through the remaining control-plane host", Run: func() error {
				_, err := e.Must(ctx, third, []string{worker.Name() + ": removed"}, "airgap", "remove", worker.Name(), "--yes", scenario.LabSkips)
				return errors.Join(err, scenario.JoinOne(ctx, e, third, worker), e.Verified(ctx, third))
			}},
		})
	})
}

// growingBundle builds a delta that contains only another list of nodes.
func growingBundle(ctx context.Context, e *scenario.Env, stick, second string) error {
	config, err := e.Config("airgap.yaml", grownEdits()...)
	if err != nil {
		return err
	}
	return e.Do(ctx, 0, []string{"delta:"}, "bundle", "-f", config, "--facts", e.Facts(), "-o", second, "--delta-from", filepath.Join(stick, "bank"))
}

// installGrown installs from the delta on the first host.
func installGrown(ctx context.Context, e *scenario.Env, first lab.Machine, stick string) error {
	deltas, err := filepath.Glob(filepath.Join(stick, "bank-delta-*"))
	if err != nil || len(deltas) != 1 {
		return fmt.Errorf("got the deltas %v on the second stick, want one: %w", deltas, err)
	}
	if err := errors.Join(first.PullStick(ctx), scenario.AttachDelta(ctx, e, first, stick, filepath.Base(deltas[0]))); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", "airgap", "install", scenario.LabSkips, "--progress", "plain", lab.StickPath+"/"+filepath.Base(deltas[0]))
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stderr)
	return r.Want("install of more hosts", 0, "the cluster is verified: 5 nodes")
}

// neverAllowed creates a budget that never allows the eviction of its only pod. airgap remove
// must name the budget and change nothing.
func neverAllowed(ctx context.Context, e *scenario.Env, by, worker lab.Machine) error {
	if err := e.Script(ctx, by,
		scenario.Kubectl+`create deployment held --image=hello:1.0 && `+scenario.Kubectl+`patch deployment held -p '{"spec":{"template":{"spec":{"nodeName":"`+worker.Name()+`"}}}}'`,
		scenario.Kubectl+"rollout status deployment/held --timeout=90s",
		scenario.Kubectl+"create poddisruptionbudget never --selector=app=held --min-available=1",
		`for i in $(seq 60); do [ "$(`+scenario.Kubectl+`get pdb never -o jsonpath={.status.expectedPods})" = 1 ] && exit 0; sleep 0.5; done; exit 1`,
	); err != nil {
		return err
	}
	r, err := e.On(ctx, by, "", "airgap", "remove", worker.Name(), "--yes")
	if err != nil {
		return err
	}
	if err := r.Want("remove with a budget that never allows", 1, "PodDisruptionBudget default/never keeps default/held-", "it requires 1 of 1 healthy pods", "nothing was changed"); err != nil {
		return err
	}
	return e.Script(ctx, by,
		`[ -z "$(`+scenario.Kubectl+`get node `+worker.Name()+` -o jsonpath={.spec.unschedulable})" ]`,
		scenario.IsGone("-n kube-system configmap airgap-removed-nodes"),
		scenario.Kubectl+"delete pdb never", scenario.Kubectl+"delete deployment held")
}

// removeWorker removes a worker with pods that a budget protects. A second removal must
// change nothing.
func removeWorker(ctx context.Context, e *scenario.Env, by, worker lab.Machine) error {
	name := worker.Name()
	if err := e.Script(ctx, by,
		scenario.Kubectl+`create deployment moves --image=hello:1.0 --replicas=4`,
		scenario.Kubectl+"create poddisruptionbudget moves --selector=app=moves --min-available=2",
		scenario.Kubectl+"rollout status deployment/moves --timeout=90s"); err != nil {
		return err
	}
	if _, err := e.Must(ctx, by, []string{name + ": removed, and its host is reset", "has left " + name}, "airgap", "remove", name, "--yes", scenario.LabSkips, "--progress", "plain"); err != nil {
		return err
	}
	if err := e.Script(ctx, worker, "! test -e /etc/kubernetes/kubelet.conf", "! test -e /var/lib/airgap/journal.jsonl"); err != nil {
		return err
	}
	if err := e.Script(ctx, by, scenario.IsGone("node "+name), scenario.IsGone("nodereport "+name), scenario.Kubectl+"rollout status deployment/moves --timeout=90s",
		scenario.Kubectl+"delete pdb moves", scenario.Kubectl+"delete deployment moves", "grep -q "+name+" /var/lib/airgap/join/removed.json"); err != nil {
		return err
	}
	if _, err := e.Must(ctx, by, []string{name + ": removed"}, "airgap", "remove", name, "--yes", scenario.LabSkips); err != nil {
		return err
	}
	return e.Verified(ctx, by)
}

// replaced deletes a host. A fresh machine gets its name and address, and joins with a new
// join token.
func replaced(ctx context.Context, e *scenario.Env, by, m lab.Machine, stick string) error {
	line, err := e.On(ctx, by, "", "airgap", "join", "--new-token", "--node", m.Name())
	if err == nil {
		err = line.Want("a join token for a running host", 1, "its member of etcd answers", "airgap remove "+m.Name())
	}
	if err != nil {
		return err
	}
	if err := m.Close(ctx); err != nil {
		return err
	}
	if line, err = e.On(ctx, by, "", "airgap", "join", "--new-token", "--node", m.Name()); err == nil {
		err = line.Want("a join token for a host that just stopped", 1, "its kubelet reports", "counts as lost after a minute")
	}
	if err != nil {
		return err
	}
	lost := scenario.Kubectl + "wait node " + m.Name() + " --for=condition=Ready=Unknown --timeout=90s"
	if err := errors.Join(e.Script(ctx, by, lost), m.Start(ctx), authorizeAgain(ctx, e, by, m)); err != nil {
		return err
	}
	deltas, err := filepath.Glob(filepath.Join(stick, "bank-delta-*"))
	if err != nil || len(deltas) != 1 {
		return fmt.Errorf("got the deltas %v on the second stick, want one: %w", deltas, err)
	}
	if err := errors.Join(scenario.AttachDelta(ctx, e, m, stick, filepath.Base(deltas[0])), m.PullStick(ctx)); err != nil {
		return err
	}
	if err := scenario.JoinOne(ctx, e, by, m); err != nil {
		return err
	}
	return errors.Join(e.Verified(ctx, by), membersAre(ctx, by, "node1", "node3", "node4"))
}

// authorizeAgain authorizes the first host's SSH key on a fresh machine.
func authorizeAgain(ctx context.Context, e *scenario.Env, first, m lab.Machine) error {
	key, err := lab.Output(ctx, first, "cat", "/root/.ssh/bank.pub")
	if err != nil {
		return err
	}
	return e.Script(ctx, m, scenario.Authorize("/root", key, "root"))
}

// removeControlPlane removes a healthy control-plane host. The other hosts must drop its
// registry from their mirrors.
func removeControlPlane(ctx context.Context, e *scenario.Env, by, m lab.Machine, others ...lab.Machine) error {
	r, err := e.Must(ctx, by, []string{m.Name() + ": removed, and its host is reset"}, "airgap", "remove", m.Name(), "--yes", scenario.LabSkips, "--progress", "plain")
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stderr, r.Stdout)
	for _, other := range append(others, by) {
		if err := e.Script(ctx, other, "! grep -q "+m.Addr().String()+" /etc/containerd/certs.d/_default/hosts.toml"); err != nil {
			return err
		}
	}
	return errors.Join(membersAre(ctx, by, "node1", "node3"), e.Verified(ctx, by))
}

// removeFirst removes the host that installed all others, through the last other control-plane
// host: that host must have all files for this.
func removeFirst(ctx context.Context, e *scenario.Env, by, first, worker lab.Machine) error {
	if _, err := e.Must(ctx, by, []string{first.Name() + ": removed, and its host is reset"}, "airgap", "remove", first.Name(), "--yes", scenario.LabSkips, "--progress", "plain"); err != nil {
		return err
	}
	return errors.Join(
		e.Script(ctx, first, "! test -e /etc/kubernetes/admin.conf", "! test -e /var/lib/airgap/journal.jsonl"),
		e.Script(ctx, worker, "! grep -q "+first.Addr().String()+" /etc/containerd/certs.d/_default/hosts.toml"),
		countMembers(ctx, e, by), e.Script(ctx, by, "for i in $(seq 150); do test -s "+membersFile+" && exit; sleep 0.2; done; exit 1"), membersAre(ctx, by, by.Name()), e.Verified(ctx, by))
}

// removeDead removes a dead host: this must need --force, and --force must be refused while the
// host runs.
func removeDead(ctx context.Context, e *scenario.Env, by, m lab.Machine) error {
	running, err := e.On(ctx, by, "", "airgap", "remove", m.Name(), "--force", "--yes")
	if err == nil {
		err = running.Want("remove a running host with --force", 1, "--force is for a host that is dead")
	}
	if err = errors.Join(err, m.Kill(ctx)); err != nil {
		return err
	}
	if err := e.Script(ctx, by, scenario.Kubectl+"wait node "+m.Name()+" --for=condition=Ready=Unknown --timeout=90s"); err != nil {
		return err
	}
	r, err := e.On(ctx, by, "", "airgap", "remove", m.Name(), "--yes")
	if err == nil {
		err = r.Want("remove a dead host without --force", 1, "its host seems to be dead", "--force")
	}
	if err != nil {
		return err
	}
	if _, err := e.Must(ctx, by, []string{m.Name() + ": removed"}, "airgap", "remove", m.Name(), "--force", "--yes", scenario.LabSkips); err != nil {
		return err
	}
	return e.Verified(ctx, by)
}
