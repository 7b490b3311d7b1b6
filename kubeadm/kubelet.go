package kubeadm

import (
	"context"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// nodeSettles is the time after kubeadm until the node must be ready: on a busy host one answer
// of the kubelet or API server may be late.
const nodeSettles = 30 * time.Second

// nodeHolds is the check of init and join: kubeadm has succeeded, and the node is ready.
func (m Machine) nodeHolds(ctx context.Context, ready func(context.Context) error) (bool, error) {
	s, err := node.StateOf(m.Machine)
	if err != nil || s != node.Ended {
		return false, err
	}
	runs, err := m.UnitRuns(ctx, "kubelet")
	if err != nil || !runs {
		return false, err
	}
	return node.KubeletHealthy(ctx, m.Machine) == nil && ready(ctx) == nil, nil
}

// repair starts the kubelet of a node that has joined, and waits until the node is ready.
func (m Machine) repair(ctx context.Context, ready func(context.Context) error) error {
	if err := m.Run(ctx, "systemctl", "enable", "--now", "kubelet"); err != nil {
		return runtime.Explain(ctx, m.Machine, host.Failure{What: "start the kubelet", Err: err, Unit: "kubelet"})
	}
	if err := node.AwaitNode(ctx, m.Machine, 2*time.Minute, ready); err != nil {
		return runtime.Explain(ctx, m.Machine, host.Failure{What: "wait for the node", Err: err, Unit: "kubelet"})
	}
	return nil
}

// AgreementStep makes the host, the runtime and the kubelet use the same cgroup driver. running
// returns the driver of the running kubelet.
func AgreementStep(m Machine, running func(context.Context) (string, error)) step.Step {
	return runtime.AgreementStep(m.Machine, runtime.Kubelet{Running: running, Restart: func(ctx context.Context) error { return node.RestartKubelet(ctx, m.Machine) }, Fetch: func(ctx context.Context) error { return node.FetchKubeletConfig(ctx, m.Machine) }})
}
