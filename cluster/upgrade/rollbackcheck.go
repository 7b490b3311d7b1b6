package upgrade

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm/etcd"
)

// checkPossible finds the reasons that would block or damage the rollback, before it stops the control
// plane. After that, the rollback must continue.
func (r *rollback) checkPossible(ctx context.Context) error {
	left, err := r.journal.Ended(rollbackPrefix+standDownName, r.record.RollbackName())
	if err != nil || left {
		return err
	}
	if err := r.site.Machine.RollbackSpace(r.backup.Etcd.Bytes, 0); err != nil {
		return advice.Add(fmt.Errorf("roll back the last upgrade: %w", err), "free space there, and run airgap rollback again")
	}
	if r.record.HasRollback() {
		return nil
	}
	// Another host may have removed nodes. If the upgrade broke the API server, the records of this
	// host are used.
	if known, err := join.OfThisCluster(ctx, r.site); ctx.Err() != nil {
		return ctx.Err()
	} else if err == nil {
		r.site = known
	}
	late, err := r.lateHosts(ctx)
	if err != nil || len(late) == 0 {
		return err
	}
	return advice.Add(fmt.Errorf("roll back the last upgrade: the earlier bundle does not list these control-plane hosts, which joined after the upgrade: %s. They would continue as this cluster, with data that is rolled back", strings.Join(late, ", ")),
		"remove each of them with airgap remove; if that fails, run airgap reset on it")
}

// lateHosts returns the control-plane hosts that joined after the upgrade began: no rollback step would
// make them leave. It reads the members of etcd. If the upgrade broke etcd, it returns the unknown
// hosts that answer on etcd's port.
func (r *rollback) lateHosts(ctx context.Context) (late []string, err error) {
	members, err := r.etcdMembers(ctx)
	late = r.unknownMembers(members)
	if err == nil || ctx.Err() != nil {
		return late, ctx.Err()
	}
	index, err := site.StoredIndex(r.site.Store, r.trusted, func(i *bundle.Index) bool { return i.ID() == r.record.To.ID })
	if err != nil {
		return nil, ctx.Err() // unknown: the bundle may have been removed
	}
	c, err := config.ParseStored("airgap.yaml of bundle "+index.Name, []byte(index.Config))
	if err != nil {
		return nil, err
	}
	late = answersAsEtcd(c.ControlPlanes(), func(m etcd.Member) bool { return inBundle(r.site.Nodes, m) }, func(address string) bool { return answers(ctx, address) })
	return late, ctx.Err()
}

// inBundle reports whether the earlier bundle lists the host of a member.
func inBundle(nodes []config.Node, m etcd.Member) bool {
	return slices.ContainsFunc(nodes, func(n config.Node) bool { return n.Has(config.ControlPlane) && m.Of(n.Name, n.Address) })
}

// unknownMembers returns the members on hosts that the earlier bundle does not list.
func (r *rollback) unknownMembers(members []etcd.Member) (late []string) {
	for _, m := range members {
		if !inBundle(r.site.Nodes, m) {
			late = append(late, m.Called())
		}
	}
	return late
}

// answersAsEtcd returns the unknown hosts that answer on etcd's port.
func answersAsEtcd(hosts []config.Node, known func(etcd.Member) bool, answers func(address string) bool) (late []string) {
	for _, n := range hosts {
		if !known(etcd.Member{Name: n.Name}) && answers(net.JoinHostPort(n.Address, "2379")) {
			late = append(late, n.Name)
		}
	}
	return late
}

func (r *rollback) etcdMembers(ctx context.Context) ([]etcd.Member, error) {
	member, err := r.site.Machine.LocalEtcd()
	if err != nil {
		return nil, err
	}
	return member.Members(ctx)
}

// newerBundles returns the names of the bundles that the rollback removes in addition to the bundle of
// the upgrade.
func (r *rollback) newerBundles() (names []string, err error) {
	removed, kept, err := r.splitStore()
	defer bundle.NewView(slices.Concat(removed, kept)...).Close()
	for _, b := range removed {
		if b.ID() != r.record.To.ID {
			names = append(names, site.NameInStore(b))
		}
	}
	return names, err
}

// removes reports whether the rollback removes a bundle from the stores: the bundle of the upgrade and,
// if hosts install from the earlier bundle, all bundles that are newer than that.
func (r *rollback) removes(b *bundle.Bundle) bool {
	if b.ID() == r.record.From.ID {
		return false
	}
	return b.ID() == r.record.To.ID || r.installs && b.Index().Created.After(r.created)
}
