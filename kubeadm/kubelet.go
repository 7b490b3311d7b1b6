package kubeadm

import (
	"context"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// nodeSettles is how long that postcondition may take to hold after kubeadm: on a busy host
// kubelet and API server may be late with one answer.
const nodeSettles = 30 * time.Second

// nodeHolds is the postcondition of init and join.
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

// repair brings a finished node back up: its kubelet may only be stopped.
func (m Machine) repair(ctx context.Context, ready func(context.Context) error) error {
	if err := m.Run(ctx, "systemctl", "enable", "--now", "kubelet"); err != nil {
		return runtime.Explain(ctx, m.Machine, host.Failure{What: "start the kubelet", Err: err, Unit: "kubelet"})
	}
	if err := node.AwaitNode(ctx, m.Machine, 2*time.Minute, ready); err != nil {
		return runtime.Explain(ctx, m.Machine, host.Failure{What: "wait for the node", Err: err, Unit: "kubelet"})
	}
	return nil
}

// AgreementStep holds when host, runtime and kubelet agree. running asks the kubelet for the
// driver that it runs by.
func AgreementStep(m Machine, running func(context.Context) (string, error)) step.Step {
	return runtime.AgreementStep(m.Machine, runtime.Kubelet{Running: running, Restart: func(ctx context.Context) error { return node.RestartKubelet(ctx, m.Machine) }, Fetch: func(ctx context.Context) error { return node.FetchKubeletConfig(ctx, m.Machine) }})
}
