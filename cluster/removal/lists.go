package removal

import (
	"context"
	"slices"
	"time"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

// updateLists removes the nodes from the lists of this host: firewall, registry, mirrors, node report and
// join files.
func (r *removal) updateLists(ctx context.Context, p ui.Progress) error {
	s := r.site
	t, err := site.TrustedKeys(r.options.Keys, site.StoredBundles(site.StoreDir)...)
	if err != nil {
		return err
	}
	v, err := s.Store.Named(s.Index.ID(), t.Keys...)
	if err != nil {
		return err
	}
	defer v.Close()
	var l step.List
	l.Add(nodesteps.FirstSteps(s)...)
	l.Add(nodesteps.RegistrySteps(s, v, t.Keys, p)...)
	l.Try(nodesteps.MirrorStep(s))
	l.Extend(nodesteps.RuntimeSteps(s))
	l.Add(nodesteps.NodeReportUnitStep(s, p), join.MaterialStep(s, v.Top()))
	steps, err := l.Steps()
	if err != nil {
		return err
	}
	_, err = journal.Run(ctx, steps, p)
	return err
}

// joinAgain runs airgap join again on the hosts that stay, through SSH. It changes only these lists there. The result has
// the names of the hosts that succeed.
func (r *removal) joinAgain(ctx context.Context, leaving []*target, p ui.Progress) (done []string) {
	if r.fleet == nil {
		return nil
	}
	f := r.fleet
	f.Members = slices.DeleteFunc(f.Members, func(m *fleet.Member) bool {
		return m.Err != nil || slices.ContainsFunc(leaving, func(t *target) bool { return t.member == m })
	})
	f.Each(ctx, f.Members, func(ctx context.Context, m *fleet.Member) error {
		here, err := m.Membership(ctx)
		m.Joined = here.Joined
		return err
	})
	f.Members = slices.DeleteFunc(f.Members, func(m *fleet.Member) bool { return m.Err != nil || !m.Joined })
	for _, h := range f.Join(ctx, p) {
		if h.Error == "" {
			done = append(done, h.Node)
		}
	}
	return done
}

// settle is the time for etcd to elect a leader after a member has left.
const settle = time.Minute

// lookAgain reads the state of a node, and returns the reason if it cannot be removed now.
func (r *removal) lookAgain(ctx context.Context, t *target) error {
	look := func(ctx context.Context) error {
		now, err := r.look(ctx, t.node.Name)
		if now != nil {
			t.leaving = now.leaving
		}
		return err
	}
	if t.controlPlane() {
		return await.Until(ctx, settle, look)
	}
	return look(ctx)
}
