package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
)

// smallEdits make the lab's airgap.yaml one of a control-plane host behind the
// balancer, and a worker.
func smallEdits() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(vip, 6443).String(),
		"roles: [worker]}\n", "roles: [worker]}\nssh:\n  identityFile: ~/.ssh/bank\n",
	}
}

// grownEdits list two more control-plane hosts and another worker.
func grownEdits() []string {
	return append(smallEdits(), "roles: [control-plane]}\n", `roles: [control-plane]}
  - {name: node3, address: 10.88.0.13, roles: [control-plane]}
  - {name: node4, address: 10.88.0.14, roles: [control-plane]}
  - {name: node5, address: 10.88.0.15, roles: [worker]}
`)
}

// grow adds, replaces and removes hosts of a cluster that runs, while somebody
// counts etcd's members.
func grow(ctx context.Context, e *Env) error {
	stick, second := filepath.Join(e.Work, "stick"), filepath.Join(e.Work, "second")
	return e.Bank(ctx, 5, func(l *lab.Lab) error {
		first, worker, third, fourth, fifth := l.Machines[0], l.Machines[1], l.Machines[2], l.Machines[3], l.Machines[4]
		stop, err := l.Balance(ctx, vip, 6443, first, third, fourth)
		if err != nil {
			return err
		}
		defer stop() // it ends with this process at the latest
		return e.inOrder([]part{
			{"survey", func() error { return e.survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.makeBundle(ctx, stick, smallEdits()...) }},
			{"keys for the first host", func() error { return e.letIn(ctx, first, l.Machines[1:]...) }},
			{"two servers", func() error { return installAll(ctx, e, first, stick, 2) }},
			{"verify", func() error { return e.verified(ctx, first) }},
			{"somebody counts", func() error { return countMembers(ctx, e, first) }},
			{"a delta for five", func() error { return growingBundle(ctx, e, stick, second) }},
			{"three servers more", func() error { return installGrown(ctx, e, first, second) }},
			{"verify", func() error {
				return errors.Join(e.verified(ctx, first), membersAre(ctx, e, first, "node1", "node3", "node4"))
			}},
			{"a budget that never allows", func() error { return neverAllowed(ctx, e, first, worker) }},
			{"a worker is removed", func() error { return removeWorker(ctx, e, first, worker) }},
			{"it comes back", func() error { return errors.Join(joinOne(ctx, e, first, worker), e.verified(ctx, first)) }},
			{"a host of the control plane is replaced", func() error { return replaced(ctx, e, first, third, second) }},
			{"another one is removed", func() error { return removeMaster(ctx, e, first, fourth, third, fifth) }},
			{"a worker that is dead is removed", func() error { return removeDead(ctx, e, first, fifth) }},
			{"what was counted", func() error { return counted(ctx, e, first) }},
			{"the dead one is switched on, and reset", func() error {
				return errors.Join(fifth.Start(ctx), e.script(ctx, fifth, "airgap reset --yes"))
			}},
			{"keys for the other one", func() error { return e.letIn(ctx, third, first, worker) }},
			{"the first host is removed", func() error { return removeFirst(ctx, e, third, first, worker) }},
			{"a worker leaves, and comes back by the one that is first now", func() error {
				_, err := e.must(ctx, third, []string{worker.Name() + ": removed"}, "airgap", "remove", worker.Name(), "--yes", labSkips)
				return errors.Join(err, joinOne(ctx, e, third, worker), e.verified(ctx, third))
			}},
		})
	})
}

// growingBundle is a delta: it has nothing but another list of nodes.
func growingBundle(ctx context.Context, e *Env, stick, second string) error {
	config, err := e.Config("airgap.yaml", grownEdits()...)
	if err != nil {
		return err
	}
	return e.do(ctx, 0, []string{"delta:"}, "bundle", "-f", config, "--facts", e.facts(), "-o", second, "--delta-from", filepath.Join(stick, "bank"))
}

// installGrown takes the delta to the first host.
func installGrown(ctx context.Context, e *Env, first lab.Machine, stick string) error {
	made, err := filepath.Glob(filepath.Join(stick, "bank-delta-*"))
	if err != nil || len(made) != 1 {
		return fmt.Errorf("on the second stick are %v, %w", made, err)
	}
	if err := errors.Join(first.PullStick(ctx), plugDelta(ctx, e, first, stick, filepath.Base(made[0]))); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", "airgap", "install", labSkips, "--progress", "plain", lab.StickPath+"/"+filepath.Base(made[0]))
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stderr)
	return r.want("install of more hosts", 0, "the cluster is verified: 5 nodes")
}

// neverAllowed has a budget hold the only pod that it guards: it is named, and
// nothing has changed. It gives room then.
func neverAllowed(ctx context.Context, e *Env, by, worker lab.Machine) error {
	if err := e.script(ctx, by,
		kubectl+`create deployment held --image=hello:1.0 && `+kubectl+`patch deployment held -p '{"spec":{"template":{"spec":{"nodeName":"`+worker.Name()+`"}}}}'`,
		kubectl+"rollout status deployment/held --timeout=90s",
		kubectl+"create poddisruptionbudget never --selector=app=held --min-available=1",
		`for i in $(seq 60); do [ "$(`+kubectl+`get pdb never -o jsonpath={.status.expectedPods})" = 1 ] && exit 0; sleep 0.5; done; exit 1`,
	); err != nil {
		return err
	}
	r, err := e.On(ctx, by, "", "airgap", "remove", worker.Name(), "--yes")
	if err != nil {
		return err
	}
	if err := r.want("remove with a budget that never allows", 1, "PodDisruptionBudget default/never holds default/held-", "it wants 1 of 1 pods well", "nothing was changed"); err != nil {
		return err
	}
	return e.script(ctx, by,
		`[ -z "$(`+kubectl+`get node `+worker.Name()+` -o jsonpath={.spec.unschedulable})" ]`,
		gone("-n kube-system configmap airgap-removed-nodes"),
		kubectl+"delete pdb never", kubectl+"delete deployment held")
}

// removeWorker moves a pod, takes the host back, and does so once more for nothing.
func removeWorker(ctx context.Context, e *Env, by, worker lab.Machine) error {
	name := worker.Name()
	if err := e.script(ctx, by,
		kubectl+`create deployment moves --image=hello:1.0 --replicas=4`,
		kubectl+"create poddisruptionbudget moves --selector=app=moves --min-available=2",
		kubectl+"rollout status deployment/moves --timeout=90s"); err != nil {
		return err
	}
	if _, err := e.must(ctx, by, []string{name + ": removed, and its host is taken back", "has left " + name}, "airgap", "remove", name, "--yes", labSkips, "--progress", "plain"); err != nil {
		return err
	}
	if err := e.script(ctx, worker, "! test -e /etc/kubernetes/kubelet.conf", "! test -e /var/lib/airgap/journal.jsonl"); err != nil {
		return err
	}
	if err := e.script(ctx, by, gone("node "+name), gone("nodereport "+name), kubectl+"rollout status deployment/moves --timeout=90s",
		kubectl+"delete pdb moves", kubectl+"delete deployment moves", "grep -q "+name+" /var/lib/airgap/join/removed.json"); err != nil {
		return err
	}
	if _, err := e.must(ctx, by, []string{name + ": removed"}, "airgap", "remove", name, "--yes", labSkips); err != nil {
		return err
	}
	return e.verified(ctx, by)
}

// replaced switches a host off for good; a fresh machine has its name and address,
// and joins by the line and a code.
func replaced(ctx context.Context, e *Env, by, m lab.Machine, stick string) error {
	line, err := e.On(ctx, by, "", "airgap", "join", "--new-code", "--node", m.Name())
	if err == nil {
		err = line.want("a code for a host that runs", 1, "its member of etcd answers", "airgap remove "+m.Name())
	}
	if err != nil {
		return err
	}
	if err := m.Close(ctx); err != nil {
		return err
	}
	if line, err = e.On(ctx, by, "", "airgap", "join", "--new-code", "--node", m.Name()); err == nil {
		err = line.want("a code for a host that has just gone", 1, "its kubelet reports", "counts as lost after a minute")
	}
	if err != nil {
		return err
	}
	lost := kubectl + "wait node " + m.Name() + " --for=condition=Ready=Unknown --timeout=90s"
	if err := errors.Join(e.script(ctx, by, lost), m.Start(ctx), authorizeAgain(ctx, e, by, m)); err != nil {
		return err
	}
	made, err := filepath.Glob(filepath.Join(stick, "bank-delta-*"))
	if err != nil || len(made) != 1 {
		return fmt.Errorf("on the second stick are %v, %w", made, err)
	}
	if err := errors.Join(plugDelta(ctx, e, m, stick, filepath.Base(made[0])), m.PullStick(ctx)); err != nil {
		return err
	}
	if err := joinOne(ctx, e, by, m); err != nil {
		return err
	}
	return errors.Join(e.verified(ctx, by), membersAre(ctx, e, by, "node1", "node3", "node4"))
}

// authorizeAgain gives a fresh machine the first host's key.
func authorizeAgain(ctx context.Context, e *Env, first, m lab.Machine) error {
	key, err := lab.Output(ctx, first, "cat", "/root/.ssh/bank.pub")
	if err != nil {
		return err
	}
	return e.script(ctx, m, authorize("/root", key, "root"))
}

// removeMaster takes a control-plane host out that is well; the others forget its
// registry.
func removeMaster(ctx context.Context, e *Env, by, m lab.Machine, others ...lab.Machine) error {
	r, err := e.must(ctx, by, []string{m.Name() + ": removed, and its host is taken back"}, "airgap", "remove", m.Name(), "--yes", labSkips, "--progress", "plain")
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stderr, r.Stdout)
	for _, other := range append(others, by) {
		if err := e.script(ctx, other, "! grep -q "+m.Addr().String()+" /etc/containerd/certs.d/_default/hosts.toml"); err != nil {
			return err
		}
	}
	return errors.Join(membersAre(ctx, e, by, "node1", "node3"), e.verified(ctx, by))
}

// removeFirst takes the host out that installed all the others, by the one that is left of the
// control plane: that has what it takes.
func removeFirst(ctx context.Context, e *Env, by, first, worker lab.Machine) error {
	if _, err := e.must(ctx, by, []string{first.Name() + ": removed, and its host is taken back"}, "airgap", "remove", first.Name(), "--yes", labSkips, "--progress", "plain"); err != nil {
		return err
	}
	return errors.Join(
		e.script(ctx, first, "! test -e /etc/kubernetes/admin.conf", "! test -e /var/lib/airgap/journal.jsonl"),
		e.script(ctx, worker, "! grep -q "+first.Addr().String()+" /etc/containerd/certs.d/_default/hosts.toml"),
		countMembers(ctx, e, by), e.script(ctx, by, "for i in $(seq 150); do test -s "+membersFile+" && exit; sleep 0.2; done; exit 1"), membersAre(ctx, e, by, by.Name()), e.verified(ctx, by))
}

// removeDead wants to be told twice that a host is dead.
func removeDead(ctx context.Context, e *Env, by, m lab.Machine) error {
	living, err := e.On(ctx, by, "", "airgap", "remove", m.Name(), "--force", "--yes")
	if err == nil {
		err = living.want("force against a host that lives", 1, "--force is for a host that is dead")
	}
	if err = errors.Join(err, m.Kill(ctx)); err != nil {
		return err
	}
	if err := e.script(ctx, by, kubectl+"wait node "+m.Name()+" --for=condition=Ready=Unknown --timeout=90s"); err != nil {
		return err
	}
	r, err := e.On(ctx, by, "", "airgap", "remove", m.Name(), "--yes")
	if err == nil {
		err = r.want("remove a host that is dead", 1, "its host seems to be dead", "--force")
	}
	if err != nil {
		return err
	}
	if _, err := e.must(ctx, by, []string{m.Name() + ": removed"}, "airgap", "remove", m.Name(), "--force", "--yes", labSkips); err != nil {
		return err
	}
	return e.verified(ctx, by)
}
