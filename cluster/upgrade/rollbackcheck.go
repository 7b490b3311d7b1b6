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

// possible finds what would stop the way back, or spoil it, before the control plane is
// taken down: from then on there is no way but on.
func (r *rollback) possible(ctx context.Context) error {
	left, err := r.journal.Ended(backName+standDownName, r.record.WayBack())
	if err != nil || left {
		return err
	}
	if err := r.site.Machine.RoomToReturn(r.backup.Etcd.Bytes, 0); err != nil {
		return advice.Add(fmt.Errorf("take the last upgrade back: %w", err), "make room there, and run airgap rollback again")
	}
	if r.record.GoesBack() {
		return nil
	}
	// Another host may have removed some. Where the upgrade broke even the way to ask, what this
	// host knows has to do.
	if known, err := join.OfThisCluster(ctx, r.site); ctx.Err() != nil {
		return ctx.Err()
	} else if err == nil {
		r.site = known
	}
	late, err := r.latecomers(ctx)
	if err != nil || len(late) == 0 {
		return err
	}
	return advice.Add(fmt.Errorf("take the last upgrade back: control-plane hosts have come since that the bundle of before does not have: %s. They would go on in the cluster's name, with data that are taken back", strings.Join(late, ", ")),
		"airgap remove takes each of them out of the cluster; where that cannot be, airgap reset on it")
}

// latecomers are control-plane hosts that nobody would have leave, since they came after
// the upgrade had begun: by what etcd says of its members or, where the upgrade broke that,
// by who answers in the place of one.
func (r *rollback) latecomers(ctx context.Context) (late []string, err error) {
	members, err := r.etcdMembers(ctx)
	late = r.strangers(members)
	if err == nil || ctx.Err() != nil {
		return late, ctx.Err()
	}
	index, err := site.StoredIndex(r.site.Store, r.trusted, func(i *bundle.Index) bool { return i.ID() == r.record.To.ID })
	if err != nil {
		return nil, ctx.Err() // nobody knows: it may have been taken out
	}
	c, err := config.ParseStored("airgap.yaml of bundle "+index.Name, []byte(index.Config))
	if err != nil {
		return nil, err
	}
	late = atEtcdsPlace(c.ControlPlanes(), r.knows, func(address string) bool { return answers(ctx, address) })
	return late, ctx.Err()
}

// knows reports whether a member's host is in the bundle to go back to.
func (r *rollback) knows(m etcd.Member) bool {
	return slices.ContainsFunc(r.site.Nodes, func(n config.Node) bool { return n.Has(config.ControlPlane) && m.Of(n.Name, n.Address) })
}

// strangers are members whose host that bundle does not have.
func (r *rollback) strangers(members []etcd.Member) (late []string) {
	for _, m := range members {
		if !r.knows(m) {
			late = append(late, m.Called())
		}
	}
	return late
}

// atEtcdsPlace are the hosts that nobody knew before and that answer where a member of etcd would.
func atEtcdsPlace(hosts []config.Node, known func(etcd.Member) bool, answers func(address string) bool) (late []string) {
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

// laterBundles are those that go beside the one that the upgrade was to.
func (r *rollback) laterBundles() (names []string, err error) {
	going, staying, err := r.divided()
	defer bundle.NewView(slices.Concat(going, staying)...).Close()
	for _, b := range going {
		if b.ID() != r.record.To.ID {
			names = append(names, site.NameInStore(b))
		}
	}
	return names, err
}

// goes reports whether a bundle leaves the stores: the one that the upgrade was to and, where
// hosts are installed from the one to go back to, what is newer than that.
func (r *rollback) goes(b *bundle.Bundle) bool {
	if b.ID() == r.record.From.ID {
		return false
	}
	return b.ID() == r.record.To.ID || r.installs && b.Index().Created.After(r.made)
}
