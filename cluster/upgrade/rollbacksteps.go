package upgrade

import (
	"context"
	"fmt"
	"maps"
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

// steps returns the steps that roll back an upgrade that has changed a host. They restore the control
// plane from the backup, as on a host without one, and bring the other hosts back to it.
func (r *rollback) steps() ([]step.Step, error) {
	var l step.List
	l.Add(r.beginStep())
	for _, n := range r.others() {
		if n.Has(config.ControlPlane) {
			l.Add(r.onceStep("down-"+n.Name, "Remove "+n.Name+" from the upgraded cluster", func(ctx context.Context) error { return r.down(ctx, n) }))
		}
	}
	l.Add(r.onceStep(standDownName, "Leave the upgraded cluster", r.standDown), r.forgetBundleStep())
	l.Extend(recovery.Restoration{Site: r.site, From: r.backup}.Again(r.view, r.trusted, r.p))
	l.Add(
		r.onceStep("removed", "Remove the nodes that were removed after the backup", r.removeAgain),
		r.onceStep("unsaid", "Clear the bundle annotations of the other hosts", r.clearAnnotations))
	back, whole, err := r.backSteps()
	if l.Extend(back, err); !whole {
		return l.Steps()
	}
	l.Add(afterWorkers(&r.rollout, []step.Step{
		r.onceStep("compare", "Compare the cluster with its state before the upgrade", r.compareRestored), r.unpreparedStep(), r.rolledBackStep(),
	})...)
	return l.Steps()
}

// forgetSteps returns the steps that roll back an upgrade that has changed no host.
func (r *rollback) forgetSteps() ([]step.Step, error) {
	steps := []step.Step{r.beginStep()}
	for _, n := range r.others() {
		if n.Has(config.ControlPlane) {
			steps = append(steps, r.onceStep("forget-"+n.Name, "Remove the new bundle from "+n.Name, func(ctx context.Context) error { return r.forget(ctx, n) }))
		}
	}
	s := r.site
	steps = append(steps, r.forgetBundleStep(), join.MaterialStep(s, r.view.Top()))
	return append(steps, r.unpreparedStep(), r.rolledBackStep()), nil
}

// beginStep records that the rollback has started, before any host leaves the cluster. It also records
// the removed nodes: the restored cluster does not know the removals since the backup.
func (r *rollback) beginStep() step.Step {
	return r.onceStep("begins", "Record that the rollback has started", func(context.Context) error {
		if err := join.LayOutRemoved(r.site); err != nil {
			return err
		}
		return upgraderecord.Note(func(u *upgraderecord.Record) { u.RollbackBegan = time.Now().UTC() })
	})
}

// rollbackPrefix is the prefix of the names of steps that a rollback runs once.
const rollbackPrefix = "rollback-"

// standDownName names the step in which a host leaves the upgraded cluster.
const standDownName = "stand-down"

// onceStep returns a step of the rollback with a result that only the journal shows.
func (r *rollback) onceStep(name, title string, run func(context.Context) error) step.Step {
	return step.Step{Name: rollbackPrefix + name, Title: title, Once: r.record.RollbackName(), Run: run}
}

// unpreparedStep removes the annotations that mark hosts as prepared for the new bundle. The backup
// contains them, and another upgrade to the same bundle would not prepare the hosts again.
func (r *rollback) unpreparedStep() step.Step {
	return step.Step{
		Name: "rollback-unprepared", Title: "Remove the marks of hosts that were prepared for the new bundle",
		Done: func(ctx context.Context) (bool, error) {
			err := r.readNodes(ctx)
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

// prepared returns the names of the nodes that are marked as prepared for the new bundle.
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
		Name: "rolled-back", Title: "Record that the rollback is finished",
		Done: func(context.Context) (bool, error) {
			u, err := upgraderecord.Read()
			return !u.RolledBack.IsZero(), err
		},
		Run: func(context.Context) error {
			if err := forgiveUpgrade(r.debts); err != nil {
				return err
			}
			return upgraderecord.Note(func(u *upgraderecord.Record) { u.RolledBack = time.Now().UTC() })
		},
	}
}

// others returns all nodes except the first control-plane host, and control-plane hosts before workers.
// Without a cluster nothing shows which of them have joined.
func (r *rollback) others() []config.Node {
	var controlPlanes, workers []config.Node
	for _, n := range r.site.Config.Nodes {
		switch {
		case n.Name == r.site.Node.Name || n.Absent != nil:
		case n.Has(config.ControlPlane):
			controlPlanes = append(controlPlanes, n)
		default:
			workers = append(workers, n)
		}
	}
	return append(controlPlanes, workers...)
}

// standDown makes this host leave the upgraded cluster. On the first host it keeps the etcd data, which
// may still be needed to look at later writes.
func (r *rollback) standDown(ctx context.Context) error {
	m := r.site.Machine
	m.Wipe = r.site.Node.Name != r.site.Config.Master().Name
	return m.LeaveForRestore(ctx)
}

// forgetBundleStep returns the step that removes the new bundle and newer ones from this host's store,
// so that packages, images and the signed index come from the earlier bundle.
func (r *rollback) forgetBundleStep() step.Step {
	s := r.onceStep("bundle", "Remove the new bundle from the store", func(ctx context.Context) error {
		if err := r.forgetBundles(ctx); err != nil {
			return err
		}
		// Also if an interrupted run has removed them: the registry would still serve them.
		_, err := host.Local{}.Run(ctx, host.Cmd{Name: "systemctl", Args: []string{"restart", registry.UnitName}})
		return err
	})
	s.Done = func(context.Context) (bool, error) {
		removed, kept, err := r.splitStore()
		bundle.NewView(slices.Concat(removed, kept)...).Close()
		return len(removed) == 0, err
	}
	return s
}

// forgetBundles removes the bundles, but keeps the layers that pushed images need.
func (r *rollback) forgetBundles(ctx context.Context) error {
	removed, kept, err := r.splitStore()
	defer bundle.NewView(slices.Concat(removed, kept)...).Close()
	if err != nil {
		return err
	}
	for i, b := range removed {
		if err := registry.KeepPushed(ctx, site.PushedDir, b, slices.Concat(removed[i+1:], kept)); ctx.Err() != nil {
			return err
		} else if err != nil { // continue, because the control plane is down; the site can push its images again
			r.p.Say("warning: %v", err)
		}
		if err := r.site.Store.Remove(b); err != nil {
			return err
		}
	}
	return nil
}

// splitStore returns the bundles of this host's store that the rollback removes, newest first, and those
// that it keeps.
func (r *rollback) splitStore() (removed, kept []*bundle.Bundle, err error) {
	bundles, err := r.site.Store.Open(r.trusted...)
	for _, b := range bundle.NewestFirst(bundles) {
		if r.removes(b) {
			removed = append(removed, b)
		} else {
			kept = append(kept, b)
		}
	}
	if len(bundles) > 0 {
		err = nil // ignore other bundles that cannot be read
	}
	return removed, kept, err
}

// down makes another control-plane host leave the upgraded cluster. A host that stays may answer as this
// cluster, with data that is rolled back.
func (r *rollback) down(ctx context.Context, n config.Node) error {
	if r.fleet != nil {
		return r.runRemote(ctx, n, "rollback", "--yes", "--of", r.record.To.ID)
	}
	r.p.Say("on %s, run:\n  airgap rollback --of %s", n.Name, r.record.To.ID[:12])
	r.p.Now("Wait for " + n.Name)
	defer r.p.Now("")
	return awaitSilence(ctx, n.Address+":2379", 2*time.Second)
}

func (r *rollback) forget(ctx context.Context, n config.Node) error {
	if r.fleet != nil {
		return r.runRemote(ctx, n, "rollback", "--yes", "--forget", "--of", r.record.To.ID)
	}
	r.p.Say("on %s, run:\n  airgap rollback --forget --of %s", n.Name, r.record.To.ID[:12])
	return nil
}

// runRemote runs airgap on another host, after a command that the upgrade may have left running there.
func (r *rollback) runRemote(ctx context.Context, n config.Node, args ...string) error {
	m, line := r.fleet.Member(n.Name), r.p.Host(n.Name)
	err := r.fleet.UntilDone(ctx, m, line, func() error {
		return m.RunLong(ctx, &fleet.RemoteRun{Show: line}, "", append(args, "--output", "json", "--progress", "json")...)
	})
	line.End(err)
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	return nil
}

// silentTries is the number of consecutive connections without an answer before a host counts as gone.
// During a restart a server fails to answer once or twice.
const silentTries = 5

// awaitSilence waits until the address has not answered silentTries times in a row.
func awaitSilence(ctx context.Context, address string, pause time.Duration) error {
	for silent := 0; silent < silentTries; {
		if silent++; answers(ctx, address) {
			silent = 0
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

// bringBack brings another host back to the restored cluster. A control-plane host joins again. A worker
// runs the steps of an upgrade to the earlier bundle, which change nothing if it was not upgraded. A host
// that was not a node at the time of the backup is skipped.
func (r *rollback) bringBack(ctx context.Context, n config.Node, many bool) error {
	if err := r.readNodesOnce(ctx); err != nil {
		return err
	}
	if _, was := r.nodes[n.Name]; !was {
		r.p.Say("%s was not a node before the upgrade: if it is one now, run airgap reset there, and join it again with the command from airgap join --new-token", n.Name)
		return nil
	}
	if !n.Has(config.ControlPlane) {
		if err := r.drain(ctx, n, many); err != nil {
			return err
		}
	}
	if err := r.runHost(ctx, n); err != nil {
		return err
	}
	if slices.Contains(r.record.Cordoned, n.Name) {
		return nil
	}
	return drain.Uncordon(ctx, r.client, n.Name)
}

// removeAgain removes nodes that the backup contains and that were removed after it: their hosts were
// reset, or are dead.
func (r *rollback) removeAgain(ctx context.Context) error {
	client, err := kube.Client(r.site.Machine.Machine, kube.AdminConf)
	if err != nil {
		return err
	}
	if err := r.debts.SendAgain(); err != nil {
		return err
	}
	return keepRemoved(ctx, client, r.site.Removed)
}

func keepRemoved(ctx context.Context, client kubernetes.Interface, names []string) error {
	for _, name := range names {
		_, err := kube.Retry(ctx, func(ctx context.Context) (any, error) {
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

// clearAnnotations removes the bundle annotation of each host that has changed since the backup. A host
// sets it again when it is back. A host that the upgrade has not reached keeps it.
func (r *rollback) clearAnnotations(ctx context.Context) error {
	if err := r.readNodesOnce(ctx); err != nil {
		return err
	}
	upgraded, err := r.journal.Ended(compareName+r.site.Node.Name, r.record.UpgradeName())
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

// readNodesOnce reads the nodes of the restored cluster once.
func (r *rollback) readNodesOnce(ctx context.Context) error {
	if r.nodes != nil {
		return nil
	}
	return r.readNodes(ctx)
}

func (r *rollback) compareRestored(ctx context.Context) error {
	if err := r.readNodesOnce(ctx); err != nil {
		return err
	}
	return r.compare(ctx, slices.Sorted(maps.Keys(r.nodes))...)
}
