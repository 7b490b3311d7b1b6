package join

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
)

// welcome prepares the cluster for a node that gets a join token: etcd must accept
// writes, the node is no longer recorded as removed, and the etcd member of a lost host
// with its name goes. It happens here, since a token does not permit a host the
// kind. The zero Node is any worker.
func welcome(ctx context.Context, s *site.Site, client kubernetes.Interface, node config.Node, say func(string, ...any)) error {
	if err := NotFull(ctx, s); err != nil || node.Name == "" {
		return err
	}
	if err := readmit(ctx, s, client, node); err != nil {
		return err
	}
	if !node.Has(config.ControlPlane) {
		return nil
	}
	d, err := Departing(ctx, s, node.Name, node.Address)
	if err != nil {
		return err
	}
	removed, err := d.RemoveDeadMembers(ctx)
	for _, m := range removed {
		say("etcd: took out the member %s, which a lost host has left (%v)", m.Called(), m.Err)
	}
	return err
}

// Departing looks at a node. The balancer may still send to a host that has just
// died, so it asks more than once.
func Departing(ctx context.Context, s *site.Site, name, address string) (*leave.NodeRemoval, error) {
	return kube.Retry(ctx, func(ctx context.Context) (*leave.NodeRemoval, error) {
		return s.Machine.Removal(ctx, name, address)
	})
}

// NotFull is for hosts with a member of etcd.
func NotFull(ctx context.Context, s *site.Site) error {
	member, err := s.Machine.LocalEtcd()
	if errors.Is(err, leave.ErrNoEtcd) {
		return nil
	}
	if err != nil {
		return err
	}
	return member.Full(ctx)
}

func readmit(ctx context.Context, s *site.Site, client kubernetes.Interface, node config.Node) error {
	_, err := kube.Retry(ctx, func(ctx context.Context) (any, error) { return nil, leave.Readmit(ctx, client, node.Name) })
	if err != nil || !slices.Contains(s.Removed, node.Name) {
		return err
	}
	return LayOutRemoved(s.Without(slices.DeleteFunc(slices.Clone(s.Removed), func(name string) bool { return name == node.Name })))
}

// LayOutRemoved publishes the removed nodes for joining hosts.
func LayOutRemoved(s *site.Site) error {
	text, err := s.RemovedFile()
	if err != nil {
		return err
	}
	return host.WriteFile(filepath.Join(site.JoinDir, site.RemovedName), text, 0o644)
}

// NotAlive refuses a join token for a control-plane host that runs: etcd would get two members with one
// name.
func NotAlive(ctx context.Context, s *site.Site, node config.Node) error {
	if !node.Has(config.ControlPlane) {
		return nil
	}
	d, err := Departing(ctx, s, node.Name, node.Address)
	if err != nil {
		return err
	}
	for _, m := range d.Own {
		if m.Err == nil {
			return advice.Add(fmt.Errorf("create a join token for %s: its member of etcd answers at %v, so that host runs", node.Name, m.Clients),
				"if its join was interrupted, run airgap reset there, or the same airgap join with its token; if another machine replaces it, run airgap remove %s first", node.Name)
		}
	}
	if len(d.Own) > 0 && d.Node != nil && d.Silent == nil { // a disk that stalls, a boot: it would be out for good
		return advice.Add(fmt.Errorf("create a join token for %s: its kubelet reports, so that host runs, though its member of etcd does not answer", node.Name),
			"run crictl ps -a --name etcd there to see why; a host that is switched off counts as lost after a minute; if another machine replaces it, run airgap remove %s first", node.Name)
	}
	return nil
}
