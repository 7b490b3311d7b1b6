package kubeadm

import (
	"context"
	"fmt"
	"io"

	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// command is a kubeadm command that makes this host a node.
type command struct {
	verb    string
	args    []string
	stdin   io.ReadCloser // or nil
	prepare func() error  // writes kubeadm's input; runs after the reset of an interrupted run
}

// begin runs the command. It first resets the node if an earlier run was interrupted.
func (m Machine) begin(ctx context.Context, c command) error {
	s, err := node.StateOf(m.Machine)
	if err != nil {
		return err
	}
	if s == node.Untouched {
		if err := node.RefuseForeignCluster(m.Machine); err != nil {
			return err
		}
	}
	if err := m.Run(ctx, "systemctl", "enable", "kubelet"); err != nil {
		return fmt.Errorf("enable the kubelet: %w", err)
	}
	if s == node.Began {
		if err := m.KubeadmReset(ctx, "--force", "--cri-socket", runtime.Endpoint(m.Machine)); err != nil {
			return fmt.Errorf("undo the interrupted %s: %w", c.verb, err)
		}
	}
	if err := node.SetState(m.Machine, node.Began); err != nil {
		return err
	}
	if err := m.removeEtcdGuard(ctx); err != nil {
		return err
	}
	if err := c.prepare(); err != nil {
		return err
	}
	if err := node.Kubeadm(ctx, m.Machine, node.Noting(m.Machine, node.Ended), c.stdin, c.verb, c.args...); err != nil {
		return err
	}
	return node.SetState(m.Machine, node.Ended)
}
