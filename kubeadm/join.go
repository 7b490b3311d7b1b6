package kubeadm

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/pki"
)

// Material returns the join material of the cluster, with the CA of this control-plane host.
func Material(m Machine, c Config) (jointoken.JoinMaterial, error) {
	data, err := os.ReadFile(m.Path(kube.ClusterCA))
	if err != nil {
		return jointoken.JoinMaterial{}, fmt.Errorf("read the cluster's CA: %w", err)
	}
	material := jointoken.JoinMaterial{APIServer: c.ControlPlaneEndpoint, CA: string(data), KubernetesVersion: c.Version}
	_, err = material.CAHash()
	return material, err
}

// Join makes this host a node of the cluster, of the control plane if n.ControlPlane is set. It
// calls ticket only if the host has not joined. It is done when kubeadm has succeeded, the
// kubelet is healthy, and an API server returns the Node: on a control-plane host its own server.
func Join(m Machine, c Config, n Node, material jointoken.JoinMaterial, ticket func(context.Context) (*jointoken.ValidatedToken, error)) step.Step {
	j := joining{m: m, config: c, node: n, material: material, ticket: ticket}
	return step.Step{
		Name: "kubeadm", Title: "Join the cluster (kubeadm join)", Settle: nodeSettles,
		Done: func(ctx context.Context) (bool, error) { return m.nodeHolds(ctx, j.ready) },
		Plan: func(context.Context) ([]string, error) { return m.planJoin(c, n, material) },
		Run:  j.run,
		Undo: func(ctx context.Context) error { return m.Leave(ctx) },
	}
}

type joining struct {
	m        Machine
	config   Config
	node     Node
	material jointoken.JoinMaterial
	ticket   func(context.Context) (*jointoken.ValidatedToken, error)
}

func (j joining) ready(ctx context.Context) error {
	if j.node.ControlPlane {
		return j.m.controlPlaneReady(ctx, j.config.Tag())
	}
	return j.m.nodeKnown(ctx, j.node.Name)
}

// Joined reports whether kubeadm has succeeded on this host: then Join needs no token.
func (m Machine) Joined() (bool, error) {
	s, err := node.StateOf(m.Machine)
	return s == node.Ended, err
}

func (j joining) run(ctx context.Context) error {
	s, err := node.StateOf(j.m.Machine)
	if err != nil {
		return err
	}
	if s == node.Ended {
		return j.m.repair(ctx, j.ready)
	}
	ticket, err := j.ticket(ctx)
	if err != nil {
		return err
	}
	join, err := j.command(ctx, ticket)
	if err != nil {
		return err
	}
	defer join.stdin.Close()
	join.prepare = inOrder(func() error { return j.m.writePatches(j.config, j.node) }, func() error { return jointoken.AwaitOldNode(ctx, ticket.Client, j.node.Name) }, join.prepare, func() error { return j.m.noteConfigured(j.config, j.node) })
	if err := j.m.begin(ctx, join); err != nil {
		return err
	}
	// An error is ignored, because the host has joined and the token expires anyway.
	_ = ticket.Revoke(ctx)
	if err := jointoken.RemoveJoinConf(j.m.Machine); err != nil {
		return err
	}
	return node.AwaitNode(ctx, j.m.Machine, time.Minute, j.ready)
}

func inOrder(jobs ...func() error) func() error {
	return func() error {
		for _, job := range jobs {
			if err := job(); err != nil {
				return err
			}
		}
		return nil
	}
}

// command prepares all data for the join before it changes anything on this host.
func (j joining) command(ctx context.Context, t *jointoken.ValidatedToken) (command, error) {
	n := j.node
	var err error
	if n.Patches, err = j.m.patchesFor(j.config, n); err != nil {
		return command{}, err
	}
	text, err := documents(joinConfiguration(j.config, n, j.m.Path(jointoken.JoinConf)))
	if err != nil {
		return command{}, err
	}
	writeKeys := func() error { return nil }
	if j.node.ControlPlane {
		keys, err := t.ControlPlaneSecrets(ctx)
		if err != nil {
			return command{}, err
		}
		writeKeys = func() error { return pki.WriteKeys(j.m.Machine, keys, SharedSecrets(j.config)) }
	}
	stdin, err := host.InMemory(text)
	return command{verb: "join", args: []string{"--config", "/dev/stdin"}, stdin: stdin, prepare: writeKeys}, err
}

// nodeKnown reads the Node with the kubelet's credentials, which may read only this Node.
func (m Machine) nodeKnown(ctx context.Context, name string) error {
	client, err := kube.Client(m.Machine, kube.KubeletConf)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("ask the API server for node %s: %w", name, err)
	}
	return nil
}
