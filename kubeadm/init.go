package kubeadm

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// Init makes this host the first control-plane node. It is done when kubeadm has succeeded, the
// kubelet is healthy, and the API server is ready and has the configured version.
func Init(m Machine, c Config, n Node, f runtime.Facts) step.Step {
	ready := func(ctx context.Context) error { return m.controlPlaneReady(ctx, c.Tag()) }
	return step.Step{
		Name: "kubeadm", Title: "Start the control plane (kubeadm init)", Settle: nodeSettles,
		Done: func(ctx context.Context) (bool, error) { return m.nodeHolds(ctx, ready) },
		Plan: func(context.Context) ([]string, error) { return m.planInit(c, n, f) },
		Run:  func(ctx context.Context) error { return m.init(ctx, c, n, f, nil) },
		Undo: func(ctx context.Context) error { return m.Leave(ctx) },
	}
}

// init starts a new cluster, or restores the saved one.
func (m Machine) init(ctx context.Context, c Config, n Node, f runtime.Facts, saved *Saved) error {
	ready := func(ctx context.Context) error { return m.controlPlaneReady(ctx, c.Tag()) }
	s, err := node.StateOf(m.Machine)
	if err != nil {
		return err
	}
	if s == node.Ended {
		return m.repair(ctx, ready)
	}
	if n.Patches, err = m.patchesFor(c, n); err != nil {
		return err
	}
	text, err := InitDocuments(c, n, f)
	if err != nil {
		return err
	}
	err = m.begin(ctx, command{
		verb: "init",
		// kubeadm always creates a bootstrap token, and would print it into the log.
		args: append([]string{"--config", m.Path(leave.ConfigFile), "--skip-token-print"}, saved.args()...),
		prepare: inOrder(
			func() error { return m.writePatches(c, n) },
			func() error { return host.WriteFile(m.Path(leave.ConfigFile), text, 0o600) },
			func() error { return m.noteConfigured(c, n) },
			func() error { return saved.restore(ctx, m, c, n) },
		),
	})
	if err != nil {
		return err
	}
	return node.AwaitNode(ctx, m.Machine, time.Minute, ready)
}

// controlPlaneReady checks the health and version of this host's own API server. It does not use
// the endpoint: the load balancer may select another server.
func (m Machine) controlPlaneReady(ctx context.Context, tag string) error {
	config, err := kube.RESTConfig(m.Machine, kube.AdminConf)
	if err != nil {
		return err
	}
	if config.Host, err = kube.OwnAPIServer(m.Machine); err != nil {
		return err
	}
	config.Timeout = 10 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Errorf("ask the API server whether it is ready: %w", err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("ask the API server for its version: %w", err)
	}
	if version.GitVersion != tag {
		return fmt.Errorf("the API server is %s, the configuration requires %s", version.GitVersion, tag)
	}
	return nil
}
