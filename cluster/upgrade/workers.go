package upgrade

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/stop"
	"airgap.dev/airgap/kubeadm/drain"
)

// workerSteps returns the steps that upgrade the workers: for each batch the upgrade, and a comparison of the cluster.
// Workers that an earlier run has upgraded and compared have no step. whole is true if the upgrade can end after them.
func (u *upgrade) workerSteps(workers []config.Node) (steps []step.Step, whole bool, err error) {
	compared, err := u.compared()
	if err != nil {
		return nil, false, err
	}
	var uncompared group
	var left []config.Node
	u.pace.unproved = map[bool]bool{false: true, true: true}
	for _, n := range workers {
		switch {
		case u.pace.hasFailed(n.Name):
			continue
		case !u.was(n.Name, compared):
			left = append(left, n)
			continue
		case !compared[n.Name]:
			uncompared.nodes = append(uncompared.nodes, n)
		}
		u.pace.prove(n)
	}
	if len(uncompared.nodes) > 0 { // the run before ended between the upgrade and the comparison
		steps = append(steps, u.groupSteps(uncompared)...)
	}
	groups := u.groups(left, u.workers())
	for _, g := range groups {
		steps = append(steps, u.groupSteps(g)...)
	}
	whole = u.complete(groups, left, func(name string) bool { return u.was(name, compared) })
	return steps, whole, nil
}

// was reports whether a worker was upgraded at the start of the run, or is not in the cluster. One that was compared
// may be cordoned since.
func (u *upgrade) was(name string, compared map[string]bool) bool {
	node, joined := u.nodes[name]
	return !joined || u.upgraded(&node) == nil && (compared[name] || u.takesPods(&node))
}

// workers is the number of workers in the cluster.
func (u *upgrade) workers() int {
	count := 0
	for _, n := range u.site.Config.Nodes {
		if _, joined := u.nodes[n.Name]; joined && !n.Has(config.ControlPlane) {
			count++
		}
	}
	return count
}

// compared returns the workers after whose upgrade the cluster was compared.
func (u *upgrade) compared() (map[string]bool, error) {
	ended, err := u.journal.EndedIn(u.record.UpgradeName())
	if err != nil {
		return nil, err
	}
	done, err := u.doneWorkers.Read()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, n := range u.site.Config.Nodes {
		names[n.Name] = ended[compareName+n.Name] || slices.Contains(done.Compared, n.Name)
	}
	return names, nil
}

// groupSteps returns the steps of a batch.
func (u *upgrade) groupSteps(g group) []step.Step {
	return []step.Step{u.groupStep(g), u.groupCompareStep(g)}
}

// groupStep returns the step that upgrades a batch of workers.
func (u *upgrade) groupStep(g group) step.Step {
	return step.Step{
		Name: hostName + label(g.names()), Title: "Upgrade " + g.title(), May: u.may(g.names()...),
		Done: func(ctx context.Context) (bool, error) {
			standing := u.pace.standing(g.nodes)
			done, err := u.all(ctx, standing, u.finished)
			if !done || err != nil {
				return false, err
			}
			for _, n := range standing { // their own airgap may have gone on after an interrupted run
				err = errors.Join(err, u.changed(n))
			}
			return true, err
		},
		Run: func(ctx context.Context) error {
			return u.change(ctx, g, func(ctx context.Context, n config.Node) error {
				ready, err := u.all(ctx, []config.Node{n}, u.finished)
				switch {
				case err != nil:
					return err
				case ready:
					return u.changed(n)
				}
				return u.upgradeHost(ctx, n, len(g.nodes) > 1)
			})
		},
	}
}

// finished returns nil if a node is upgraded and takes pods.
func (r *rollout) finished(node *corev1.Node) error {
	if !r.takesPods(node) {
		return errors.New("it is cordoned")
	}
	return r.upgraded(node)
}

// upgradeHost drains a host, upgrades it and uncordons it.
func (u *upgrade) upgradeHost(ctx context.Context, n config.Node, oneOfMany bool) error {
	if err := u.drain(ctx, n, oneOfMany); err != nil {
		return err
	}
	if err := u.runHost(ctx, n); err != nil {
		return err
	}
	if !slices.Contains(u.record.Cordoned, n.Name) {
		if err := drain.Uncordon(ctx, u.client, n.Name); err != nil {
			return err
		}
	}
	return u.changed(n)
}

// groupCompareStep returns the step that compares the cluster after a batch. For one worker that may not fail it is the
// step of older versions, which the journal records. Otherwise the record of the upgrade has the names of the workers.
func (u *upgrade) groupCompareStep(g group) step.Step {
	s := u.compareStep(label(g.names()), "after "+g.title())
	compare := u.compareAfter(g.names()...)
	s.Run = func(ctx context.Context) error {
		if err := compare(ctx); err != nil {
			return err
		}
		u.pace.took(g, u.p.Say)
		if u.pace.inJournal(g) {
			return nil
		}
		return u.doneWorkers.NoteCompared(u.pace.ok(g)...)
	}
	if !u.pace.inJournal(g) {
		s.Once = ""
		s.Done = func(context.Context) (bool, error) {
			done, err := u.doneWorkers.Read()
			return !slices.ContainsFunc(u.pace.ok(g), func(name string) bool { return !slices.Contains(done.Compared, name) }), err
		}
	}
	return s
}

// timed returns the comparison after a control-plane host, which ends its time.
func (u *upgrade) timed(n config.Node, s step.Step) step.Step {
	compare := s.Run
	s.Run = func(ctx context.Context) error {
		if err := compare(ctx); err != nil {
			return err
		}
		if p := &u.pace; !p.began.IsZero() {
			p.controls.Add(time.Since(p.began))
			p.began = time.Time{}
		}
		return u.changed(n)
	}
	return s
}

// ofFirstHost makes the steps of the first host begin as those of the others do.
func (u *upgrade) ofFirstHost(steps ...step.Step) []step.Step {
	for i := range steps {
		steps[i].May = func(ctx context.Context) error {
			if u.pace.begun > 0 {
				return nil
			}
			return u.may(u.site.Node.Name)(ctx)
		}
	}
	return steps
}

// afterWorkers makes the steps after the workers wait for failed ones.
func afterWorkers(r *rollout, steps []step.Step) []step.Step {
	for i := range steps {
		steps[i].May = func(ctx context.Context) error {
			if stop.IsAsked(ctx) {
				return r.stopped("Ctrl-C", stop.ErrInterrupted)
			}
			return r.pace.failures()
		}
	}
	return steps
}
