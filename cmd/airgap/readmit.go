package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
)

// welcome prepares the cluster for a node that is about to get a code: etcd takes
// writes, the node counts as removed no more, and what a lost host of its name has
// left in etcd goes. It happens here, since a code lets a host do nothing of the
// kind. The zero Node is any worker.
func (s *site) welcome(ctx context.Context, client kubernetes.Interface, node config.Node, say func(string, ...any)) error {
	if err := s.notFull(ctx); err != nil || node.Name == "" {
		return err
	}
	if err := s.readmit(ctx, client, node); err != nil {
		return err
	}
	if !node.Has(config.ControlPlane) {
		return nil
	}
	d, err := s.departing(ctx, node.Name, node.Address)
	if err != nil {
		return err
	}
	removed, err := d.ClearWay(ctx)
	for _, m := range removed {
		say("etcd: took out the member %s, which a lost host has left (%v)", m.Called(), m.Err)
	}
	return err
}

// departing looks at a node. The balancer may still send to a host that has just
// died, so it asks more than once.
func (s *site) departing(ctx context.Context, name, address string) (*kubeadm.Departure, error) {
	return patiently(ctx, func(ctx context.Context) (*kubeadm.Departure, error) {
		return s.machine.Departing(ctx, name, address)
	})
}

// notFull is for hosts with a member of etcd.
func (s *site) notFull(ctx context.Context) error {
	member, err := s.machine.LocalEtcd()
	if errors.Is(err, kubeadm.ErrNoEtcd) {
		return nil
	}
	if err != nil {
		return err
	}
	return member.Full(ctx)
}

func (s *site) readmit(ctx context.Context, client kubernetes.Interface, node config.Node) error {
	_, err := patiently(ctx, func(ctx context.Context) (any, error) { return nil, kubeadm.LetIn(ctx, client, node.Name) })
	if err != nil || !slices.Contains(s.removed, node.Name) {
		return err
	}
	s.leaveOut(slices.DeleteFunc(slices.Clone(s.removed), func(name string) bool { return name == node.Name }))
	return s.layOutRemoved()
}

// layOutRemoved tells hosts that join who is removed now.
func (s *site) layOutRemoved() error {
	text, err := s.removedFile()
	if err != nil {
		return err
	}
	return host.WriteFile(filepath.Join(joinDir, removedName), text, 0o644)
}

// notAlive refuses a code for a control-plane host that runs: two of one name would
// be one member of etcd too many.
func (s *site) notAlive(ctx context.Context, node config.Node) error {
	if !node.Has(config.ControlPlane) {
		return nil
	}
	d, err := s.departing(ctx, node.Name, node.Address)
	if err != nil {
		return err
	}
	for _, m := range d.Own {
		if m.Err == nil {
			return advice.Add(fmt.Errorf("make a code for %s: its member of etcd answers at %v, so that host runs", node.Name, m.Clients),
				"its join was interrupted? airgap reset there, or the same airgap join with the code that it has. Another machine is to take its place? airgap remove %s first", node.Name)
		}
	}
	if len(d.Own) > 0 && d.Node != nil && d.Silent == nil { // a disk that stalls, a boot: it would be out for good
		return advice.Add(fmt.Errorf("make a code for %s: its kubelet reports, so that host runs, though its member of etcd does not answer", node.Name),
			"on it crictl ps -a --name etcd says why; one that is switched off counts as lost after a minute. Another machine is to take its place? airgap remove %s first", node.Name)
	}
	return nil
}
