package upgrade

import (
	"context"
	"slices"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
)

// backName is the prefix of the steps that bring a host back, after rollbackPrefix.
const backName = "back-"

// backSteps returns the steps that bring the other hosts back: control-plane hosts one after the other, then workers in
// batches. Workers that are back have no step. whole is true if the rollback can end after them.
func (r *rollback) backSteps() (steps []step.Step, whole bool, err error) {
	ended, err := r.journal.EndedIn(r.record.RollbackName())
	if err != nil {
		return nil, false, err
	}
	done, err := r.doneWorkers.Read()
	if err != nil {
		return nil, false, err
	}
	back := func(name string) bool { return ended[rollbackPrefix+backName+name] || slices.Contains(done.Back, name) }
	var left []config.Node
	workers := 0
	r.pace.todo, r.pace.unproved = nil, map[bool]bool{false: true, true: true}
	for _, n := range r.others() {
		if !n.Has(config.ControlPlane) {
			workers++
		}
		switch {
		case n.Has(config.ControlPlane):
			if !back(n.Name) {
				r.pace.todo = append(r.pace.todo, n.Name)
			}
			steps = append(steps, r.backStep(n))
		case back(n.Name):
			r.pace.prove(n)
		case !r.pace.out[n.Name] && !r.pace.hasFailed(n.Name):
			left = append(left, n)
		}
	}
	groups := r.groups(left, workers)
	for _, g := range groups {
		steps = append(steps, r.groupStep(g))
	}
	whole = r.complete(groups, left, back)
	return steps, whole, r.oweLeftOut(back)
}

// backStep returns the step that brings a control-plane host back.
func (r *rollback) backStep(n config.Node) step.Step {
	s := r.onceStep(backName+n.Name, "Bring "+n.Name+" back to the restored cluster", func(ctx context.Context) error {
		if err := r.bringBack(ctx, n, false); err != nil {
			return err
		}
		return r.changed(n)
	})
	s.May = r.may(n.Name)
	return s
}

// groupStep returns the step that brings a batch of workers back. For one worker that may not fail it is the
// step of older versions, which the journal records. Otherwise the record of the upgrade has the names of the workers.
func (r *rollback) groupStep(g group) step.Step {
	s := r.onceStep(backName+label(g.names()), "Bring back "+g.title(), func(ctx context.Context) error {
		if err := r.readNodesOnce(ctx); err != nil {
			return err
		}
		err := r.change(ctx, g, func(ctx context.Context, n config.Node) error {
			if err := r.bringBack(ctx, n, len(g.nodes) > 1); err != nil {
				return err
			}
			return r.isBack(g, n)
		})
		if err == nil {
			r.pace.took(g, r.p.Say)
		}
		return err
	})
	s.May = r.may(g.names()...)
	if !r.pace.inJournal(g) {
		s.Once = ""
		s.Done = func(context.Context) (bool, error) {
			done, err := r.doneWorkers.Read()
			return !slices.ContainsFunc(r.pace.ok(g), func(name string) bool { return !slices.Contains(done.Back, name) }), err
		}
	}
	return s
}

// isBack notes that a worker is back.
func (r *rollback) isBack(g group, n config.Node) error {
	if !r.pace.inJournal(g) {
		r.recording.Lock()
		defer r.recording.Unlock()
		if err := r.doneWorkers.NoteBack(n.Name); err != nil {
			return err
		}
	}
	return r.changed(n)
}

// forgiveUpgrade removes the debts of the upgrade that was rolled back.
func forgiveUpgrade(debts owed.File) error {
	all, err := debts.Read()
	if err != nil {
		return err
	}
	var names []string
	for _, d := range all {
		if d.Command == owed.Upgrade {
			names = append(names, d.Node)
		}
	}
	return debts.Paid(owed.Upgrade, names...)
}
