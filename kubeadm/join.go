package kubeadm

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// JoinMaterial is what a host must know of a cluster to join it. None of it
// is secret; the code is not part of it.
type JoinMaterial struct {
	APIServer         string `json:"apiServer"` // HOST:PORT
	CA                string `json:"ca"`        // certificate of the cluster's authority, PEM
	KubernetesVersion string `json:"kubernetesVersion"`
}

// Material reads the join material on a control-plane host.
func Material(m Machine, c Config) (JoinMaterial, error) {
	data, err := os.ReadFile(m.Path(ClusterCA))
	if err != nil {
		return JoinMaterial{}, fmt.Errorf("read the cluster's CA: %w", err)
	}
	material := JoinMaterial{APIServer: c.ControlPlaneEndpoint, CA: string(data), KubernetesVersion: c.Version}
	_, err = material.CAHash()
	return material, err
}

// CAHash is "sha256:HEX" of the authority's public key (SPKI), which kubeadm
// compares.
func (j JoinMaterial) CAHash() (string, error) {
	block, _ := pem.Decode([]byte(j.CA))
	if block == nil {
		return "", errors.New("read the cluster's CA: there is no PEM block")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("read the cluster's CA: %w", err)
	}
	sum := sha256.Sum256(ca.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// pin is what a code says of the cluster: it holds to each CA that would be trusted.
func (j JoinMaterial) pin() (string, error) {
	all, err := cert.ParseCertsPEM([]byte(j.CA))
	if err != nil {
		return "", fmt.Errorf("read the cluster's CA: %w", err)
	}
	keys := make([][]byte, len(all))
	for i, ca := range all {
		keys[i] = ca.RawSubjectPublicKeyInfo
	}
	return pinOf(keys...), nil
}

// Join makes this host a node of the cluster, of the control plane if n says
// so. The ticket is asked for only when the host has to join. It holds when
// kubeadm came back fine, the kubelet is healthy, and an API server shows it its
// Node: on a control-plane host its own.
func Join(m Machine, c Config, n Node, material JoinMaterial, ticket func(context.Context) (*Ticket, error)) step.Step {
	j := joining{m: m, config: c, node: n, material: material, ticket: ticket}
	return step.Step{
		Name: "kubeadm", Title: "Join the cluster (kubeadm join)", Settle: nodeSettles,
		Done: func(ctx context.Context) (bool, error) { return m.nodeHolds(ctx, j.ready) },
		Plan: func(context.Context) ([]string, error) { return m.planJoin(n, material) },
		Run:  j.run,
		Undo: func(ctx context.Context) error { return m.leave(ctx) },
	}
}

type joining struct {
	m        Machine
	config   Config
	node     Node
	material JoinMaterial
	ticket   func(context.Context) (*Ticket, error)
}

func (j joining) ready(ctx context.Context) error {
	if j.node.ControlPlane {
		return j.m.controlPlaneReady(ctx, j.config.Tag())
	}
	return j.m.nodeKnown(ctx, j.node.Name)
}

// Joined reports whether kubeadm came back fine on this host: then Join asks for
// no code.
func (m Machine) Joined() (bool, error) {
	s, err := m.state()
	return s == ended, err
}

func (j joining) run(ctx context.Context) error {
	s, err := j.m.state()
	if err != nil {
		return err
	}
	if s == ended {
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
	join.prepare = inOrder(func() error { return awaitOldSelf(ctx, ticket.client, j.node.Name) }, join.prepare, func() error { return j.m.noteConfigured(j.config, j.node) })
	if err := j.m.begin(ctx, join); err != nil {
		return err
	}
	// Not burnt, it would still end by itself: no reason to fail a host that
	// has joined.
	_ = ticket.burn(ctx)
	if err := j.m.ForgetEntry(); err != nil {
		return err
	}
	return j.m.awaitNode(ctx, time.Minute, j.ready)
}

// awaitOldSelf waits until the cluster knows that the kubelet which had this name
// before is gone: of an interrupted join, or of the machine that this one replaces.
// kubeadm takes a Node that is Ready for another host of the same name.
func awaitOldSelf(ctx context.Context, client kubernetes.Interface, name string) error {
	return await.Until(ctx, 2*time.Minute, func(ctx context.Context) error {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return ignoreNotFound(err)
		}
		if NodeReady(node) {
			return &host.Failure{
				What: "join as " + name, Err: errors.New("the cluster has a node of that name, and it is ready"),
				Next: "another host has the name? airgap reset there, or airgap remove " + name + " on a control-plane host; then join here",
			}
		}
		return nil
	})
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("ask for this host's own Node: %w", err)
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

// command gets everything that joining takes before anything on this host is
// changed.
func (j joining) command(ctx context.Context, t *Ticket) (command, error) {
	text, err := documents(joinConfiguration(j.config, j.node, j.m.Path(JoinConf)))
	if err != nil {
		return command{}, err
	}
	takeOver := func() error { return nil }
	if j.node.ControlPlane {
		keys, err := t.Parcel(ctx)
		if err != nil {
			return command{}, err
		}
		takeOver = func() error { return j.m.takeOver(keys, SharedSecrets(j.config)) }
	}
	stdin, err := host.InMemory(text)
	return command{verb: "join", args: []string{"--config", "/dev/stdin"}, stdin: stdin, prepare: takeOver}, err
}

// reach tells of a closed firewall in seconds, where kubeadm takes minutes.
func reach(ctx context.Context, server string) error {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		return &host.Failure{What: "reach the API server", Err: err, Next: "open TCP to " + server + " from this host; on the control-plane host, airgap status tells whether it is up"}
	}
	return conn.Close()
}

// nodeKnown asks with the kubelet's own credentials, which may read just this.
func (m Machine) nodeKnown(ctx context.Context, name string) error {
	client, err := m.Client(KubeletConf)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("ask the API server for node %s: %w", name, err)
	}
	return nil
}
