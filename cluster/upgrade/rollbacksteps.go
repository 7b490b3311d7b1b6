package upgrade

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/recovery"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/registry"
)

// steps take an upgrade back that has changed a host: the control plane is restored
// from the backup as on a host that has none, and the others come back to it.
func (r *rollback) steps() ([]step.Step, error) {
	var l step.List
	l.Add(r.beginStep())
	for _, n := range r.others() {
		if n.Has(config.ControlPlane) {
			l.Add(r.onceStep("down-"+n.Name, n.Name+" leaves the upgraded cluster", func(ctx context.Context) error { return r.down(ctx, n) }))
		}
	}
	l.Add(r.onceStep(standDownName, "Leave the upgraded cluster", r.standDown), r.forgetBundleStep())
	l.Extend(recovery.Restoration{Site: r.site, From: r.backup}.Again(r.view, r.trusted, r.p))
	l.Add(
		r.onceStep("removed", "Have nodes that were removed since stay removed", r.removedAgain),
		r.onceStep("unsaid", "Have every other host say again that it is as before", r.unsay))
	for _, n := range r.others() {
		l.Add(r.onceStep("back-"+n.Name, n.Name+" comes back", func(ctx context.Context) error { return r.back(ctx, n) }))
	}
	l.Add(r.onceStep("compare", "Compare the cluster with what it was like", r.compareRestored), r.unpreparedStep(), r.rolledBackStep())
	return l.Steps()
}

// forgetSteps take an upgrade back that has changed no host.
func (r *rollback) forgetSteps() ([]step.Step, error) {
	steps := []step.Step{r.beginStep()}
	for _, n := range r.others() {
		if n.Has(config.ControlPlane) {
			steps = append(steps, r.onceStep("forget-"+n.Name, n.Name+" forgets the new bundle", func(ctx context.Context) error { return r.forget(ctx, n) }))
		}
	}
	s := r.site
	steps = append(steps, r.forgetBundleStep(), join.MaterialStep(s, r.view.Top()))
	return append(steps, r.unpreparedStep(), r.rolledBackStep()), nil
}

// beginStep notes, before any host has left, that there is no way but back, and which nodes
// were removed: the restored cluster does not know of those of since.
func (r *rollback) beginStep() step.Step {
	return r.onceStep("begins", "Note that the upgrade is being taken back", func(context.Context) error {
		if err := join.LayOutRemoved(r.site); err != nil {
			return err
		}
		return upgraderecord.Note(func(u *upgraderecord.Record) { u.BackBegan = time.Now().UTC() })
	})
}

// backName begins the names of the steps that a rollback runs once.
const backName = "rollback-"

// standDownName is of the step by which a host leaves the upgraded cluster.
const standDownName = "stand-down"

// onceStep is a step of the rollback that nothing on the host tells of.
func (r *rollback) onceStep(name, title string, run func(context.Context) error) step.Step {
	return step.Step{Name: backName + name, Title: title, Once: r.record.WayBack(), Run: run}
}

// unpreparedStep takes off what says that hosts have what they need of the new bundle: the
// backup was taken when they had, and an upgrade to the same one would not prepare them again.
func (r *rollback) unpreparedStep() step.Step {
	return step.Step{
		Name: "rollback-unprepared", Title: "Note that no host is prepared for the new bundle any more",
		Done: func(ctx context.Context) (bool, error) {
			err := r.look(ctx)
			return len(r.prepared()) == 0, err
		},
		Run: func(ctx context.Context) error {
			for _, name := range r.prepared() {
				if err := site.Annotate(ctx, r.client, name, site.PreparedNote, ""); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// prepared are the nodes that say they have what they need of the new bundle.
func (r *rollback) prepared() (names []string) {
	for name, n := range r.nodes {
		if site.Noted(&n, site.PreparedNote, r.record.To.ID) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (r *rollback) rolledBackStep() step.Step {
	return step.Step{
		Name: "rolled-back", Title: "Note that the upgrade was taken back",
		Done: func(context.Context) (bool, error) {
			u, err := upgraderecord.Read()
			return !u.RolledBack.IsZero(), err
		},
		Run: func(context.Context) error {
			return upgraderecord.Note(func(u *upgraderecord.Record) { u.RolledBack = time.Now().UTC() })
		},
	}
}

// others returns all nodes but the first control-plane host, those of the control plane
// first: there is no cluster to ask which of them have joined.
func (r *rollback) others() []config.Node {
	var masters, workers []config.Node
	for _, n := range r.site.Config.Nodes {
		switch {
		case n.Name == r.site.Node.Name:
		case n.Has(config.ControlPlane):
			masters = append(masters, n)
		default:
			workers = append(workers, n)
		}
	}
	return append(masters, workers...)
}

// standDown keeps etcd's data on the first host, for whoever may still want to look
// at what was written since.
func (r *rollback) standDown(ctx context.Context) error {
	m := r.site.Machine
	m.Wipe = r.site.Node.Name != r.site.Config.Master().Name
	return m.StandDown(ctx)
}

// forgetBundleStep takes the new bundle, and newer ones, out of this host's store, so that
// packages, images and the signed index are those of before.
func (r *rollback) forgetBundleStep() step.Step {
	s := r.onceStep("bundle", "Take the new bundle out of the store", func(ctx context.Context) error {
		if err := r.forgetBundles(ctx); err != nil {
			return err
		}
		// Also where an interrupted run has taken them out: the registry would go on serving them.
		_, err := host.Local{}.Run(ctx, host.Cmd{Name: "systemctl", Args: []string{"restart", registry.UnitName}})
		return err
	})
	s.Done = func(context.Context) (bool, error) {
		going, staying, err := r.divided()
		bundle.NewView(slices.Concat(going, staying)...).Close()
		return len(going) == 0, err
	}
	return s
}

// forgetBundles keeps what images rest on that were pushed since.
func (r *rollback) forgetBundles(ctx context.Context) error {
	going, staying, err := r.divided()
	defer bundle.NewView(slices.Concat(going, staying)...).Close()
	if err != nil {
		return err
	}
	for i, b := range going {
		if err := registry.KeepPushed(ctx, site.PushedDir, b, slices.Concat(going[i+1:], staying)); ctx.Err() != nil {
			return err
		} else if err != nil { // the control plane is down: what was pushed can be pushed again
			r.p.Say("warning: %v", err)
		}
		if err := r.site.Store.Remove(b); err != nil {
			return err
		}
	}
	return nil
}

// divided are the bundles of this host's store that go, the newest first, and that stay.
func (r *rollback) divided() (going, staying []*bundle.Bundle, err error) {
	bundles, err := r.site.Store.Open(r.trusted...)
	for _, b := range bundle.NewestFirst(bundles) {
		if r.goes(b) {
			going = append(going, b)
		} else {
			staying = append(staying, b)
		}
	}
	if len(bundles) > 0 {
		err = nil // another one that cannot be read is not of interest
	}
	return going, staying, err
}

// down has another control-plane host leave: as long as one is there, it may answer
// in the cluster's name, with data that are about to be taken back.
func (r *rollback) down(ctx context.Context, n config.Node) error {
	if r.fleet != nil {
		return r.far(ctx, n, "rollback", "--yes", "--of", r.record.To.ID)
	}
	r.p.Say("on %s, run:\n  airgap rollback --of %s", n.Name, r.record.To.ID[:12])
	r.p.Now("waits for " + n.Name)
	defer r.p.Now("")
	return awaitSilence(ctx, n.Address+":2379", 2*time.Second)
}

func (r *rollback) forget(ctx context.Context, n config.Node) error {
	if r.fleet != nil {
		return r.far(ctx, n, "rollback", "--yes", "--forget", "--of", r.record.To.ID)
	}
	r.p.Say("on %s, run:\n  airgap rollback --forget --of %s", n.Name, r.record.To.ID[:12])
	return nil
}

// far runs airgap on another host, once what the upgrade may have left at work there has
// come to its end.
func (r *rollback) far(ctx context.Context, n config.Node, args ...string) error {
	m, line := r.fleet.Member(n.Name), r.p.Host(n.Name)
	err := r.fleet.UntilDone(ctx, m, line, func() error {
		return m.Run(ctx, &fleet.Faraway{Show: line}, nil, "", append(args, "--output", "json", "--progress", "json")...)
	})
	line.End(err)
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	return nil
}

// looks is how often in a row nobody may answer before a host counts as gone: a server
// that is being started anew is silent once or twice.
const looks = 5

// awaitSilence waits until nobody has answered at the address for a while.
func awaitSilence(ctx context.Context, address string, pause time.Duration) error {
	for none := 0; none < looks; {
		if none++; answers(ctx, address) {
			none = 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}

func answers(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: 3 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	return err == nil && conn.Close() == nil
}

// back brings another host back: a control-plane host joins the restored cluster
// anew, a worker that was upgraded goes the way of an upgrade in the other direction,
// and one that was not just hears that it may stay as it is. One that was no node when the
// backup was taken is none now.
func (r *rollback) back(ctx context.Context, n config.Node) error {
	if err := r.knowNodes(ctx); err != nil {
		return err
	}
	if _, was := r.nodes[n.Name]; !was {
		r.p.Say("%s was no node before the upgrade: airgap reset there if it is one by now, and its join line (airgap join --new-code) brings it in", n.Name)
		return nil
	}
	if !n.Has(config.ControlPlane) {
		if err := r.drain(ctx, n); err != nil {
			return err
		}
	}
	if err := r.work(ctx, n); err != nil {
		return err
	}
	if slices.Contains(r.record.Cordoned, n.Name) {
		return nil
	}
	return drain.Uncordon(ctx, r.client, n.Name)
}

// removedAgain takes nodes out that the backup has and that were removed since: their hosts
// are reset, or dead.
func (r *rollback) removedAgain(ctx context.Context) error {
	client, err := kube.Client(r.site.Machine.Machine, kube.AdminConf)
	if err != nil {
		return err
	}
	return keepRemoved(ctx, client, r.site.Removed)
}

func keepRemoved(ctx context.Context, client kubernetes.Interface, names []string) error {
	for _, name := range names {
		_, err := kube.Patiently(ctx, func(ctx context.Context) (any, error) {
			err := client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("delete node %s: %w", name, err)
			}
			return nil, leave.NoteRemoved(ctx, client, name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unsay takes off what the backup says in the name of hosts that have changed since: which
// bundle they are as. Each says it again when it has come back; one that the upgrade has not
// come to is as before.
func (r *rollback) unsay(ctx context.Context) error {
	if err := r.knowNodes(ctx); err != nil {
		return err
	}
	upgraded, err := r.journal.Ended(compareName+r.site.Node.Name, r.record.Upgrade())
	if err != nil {
		return err
	}
	for _, n := range r.others() {
		_, was := r.nodes[n.Name]
		if was && (n.Has(config.ControlPlane) || upgraded) {
			if err := site.Annotate(ctx, r.client, n.Name, site.BundleNote, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// knowNodes asks the restored cluster for its nodes, once.
func (r *rollback) knowNodes(ctx context.Context) error {
	if r.nodes != nil {
		return nil
	}
	return r.look(ctx)
}

func (r *rollback) compareRestored(ctx context.Context) error {
	if err := r.knowNodes(ctx); err != nil {
		return err
	}
	return r.compare(ctx)
}
