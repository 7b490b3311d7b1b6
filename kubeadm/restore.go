package kubeadm

import (
	"context"
	"fmt"
	"net"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/kubeadm/runtime"
)

// Saved has the data with which Restore restores a control plane, in addition to the
// configuration.
type Saved struct {
	Keys     jointoken.ControlPlaneSecrets // by path: the keys that the control-plane hosts share
	Snapshot string                        // path of etcd's snapshot
}

// Restore is Init for a lost cluster: it starts with the saved keys and etcd's snapshot.
// kubeadm creates new certificates and kubeconfig files for this host.
func Restore(m Machine, c Config, n Node, f runtime.Facts, saved Saved) step.Step {
	s := Init(m, c, n, f)
	s.Title = "Restore the control plane from the backup (kubeadm init)"
	s.Plan = func(context.Context) ([]string, error) {
		changes, err := m.planInit(c, n, f)
		if err == nil && !m.finished() {
			changes = append([]string{"write the cluster's keys to " + node.PKIDir, "restore etcd's data to " + node.EtcdDir}, changes...)
		}
		return changes, err
	}
	s.Run = func(ctx context.Context) error { return m.init(ctx, c, n, f, &saved) }
	return s
}

// args lets kubeadm accept a directory with etcd's data, which it otherwise requires to be empty.
func (s *Saved) args() []string {
	if s == nil {
		return nil
	}
	return []string{"--ignore-preflight-errors", "DirAvailable--var-lib-etcd"}
}

// restore writes the saved keys and data to the host. It replaces existing data, which is from an
// interrupted run: begin has refused any other.
func (s *Saved) restore(ctx context.Context, m Machine, c Config, n Node) error {
	if s == nil {
		return nil
	}
	if err := pki.WriteKeys(m.Machine, s.Keys, SharedSecrets(c)); err != nil {
		return err
	}
	if err := m.CheckTargets(node.EtcdDir); err != nil {
		return err
	}
	if err := host.RemoveTree(m.Path(node.EtcdDir + "/member")); err != nil {
		return fmt.Errorf("remove etcd's data of an interrupted run: %w", err)
	}
	return etcd.Restore(ctx, s.Snapshot, m.Path(node.EtcdDir), n.Name, "https://"+net.JoinHostPort(n.Address, "2380"))
}
