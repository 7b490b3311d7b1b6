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

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JoinMaterial is what a host must know of a cluster to join it. None of it
// is secret; the code is not part of it.
type JoinMaterial struct {
	APIServer         string   `json:"apiServer"`    // HOST:PORT
	CACertHashes      []string `json:"caCertHashes"` // "sha256:HEX" of the CA's public key (SPKI)
	KubernetesVersion string   `json:"kubernetesVersion"`
}

// Material reads the join material on a control-plane host.
func Material(m Machine, c Config) (JoinMaterial, error) {
	data, err := os.ReadFile(m.path(clusterCA))
	if err != nil {
		return JoinMaterial{}, fmt.Errorf("read the cluster's CA: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return JoinMaterial{}, fmt.Errorf("read the cluster's CA: %s holds no PEM block", clusterCA)
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return JoinMaterial{}, fmt.Errorf("read the cluster's CA: %w", err)
	}
	sum := sha256.Sum256(ca.RawSubjectPublicKeyInfo)
	return JoinMaterial{
		APIServer:         c.ControlPlaneEndpoint,
		CACertHashes:      []string{"sha256:" + hex.EncodeToString(sum[:])},
		KubernetesVersion: c.Version,
	}, nil
}

// Join makes this host a worker. code is asked only when the host has to
// join. It holds when kubeadm came back fine, the kubelet
// runs, and the API server shows the kubelet its Node.
func Join(m Machine, c Config, n Node, material JoinMaterial, code func(context.Context) (string, error)) step.Step {
	ready := func(ctx context.Context) error { return m.nodeKnown(ctx, n.Name) }
	return step.Step{
		Name: "kubeadm", Title: "Join the cluster (kubeadm join)",
		Done: func(ctx context.Context) (bool, error) { return m.nodeHolds(ctx, ready) },
		Plan: func(context.Context) ([]string, error) { return m.planJoin(n, material) },
		Run:  func(ctx context.Context) error { return m.join(ctx, c, n, material, code, ready) },
		Undo: func(ctx context.Context) error { return m.leave(ctx) },
	}
}

// Joined reports whether kubeadm came back fine on this host: then Join asks for
// no code.
func (m Machine) Joined() (bool, error) {
	s, err := m.state()
	return s == ended, err
}

func (m Machine) join(ctx context.Context, c Config, n Node, material JoinMaterial, code func(context.Context) (string, error), ready func(context.Context) error) error {
	s, err := m.state()
	if err != nil {
		return err
	}
	if s == ended {
		return m.repair(ctx, ready)
	}
	if len(material.CACertHashes) == 0 {
		// kubeadm would then trust whoever answers.
		return errors.New("join: the material lacks the hash of the cluster's CA")
	}
	if err := reach(ctx, material.APIServer); err != nil {
		return err
	}
	secret, err := code(ctx)
	if err != nil {
		return err
	}
	if err := CheckCode(secret); err != nil {
		return err
	}
	text, err := documents(joinConfiguration(c, n, material, secret))
	if err != nil {
		return err
	}
	// Whenever this program is killed, no file with the code is left.
	config, err := host.InMemory(text)
	if err != nil {
		return err
	}
	defer config.Close()
	if err := m.begin(ctx, config, "join", "--config", "/dev/stdin"); err != nil {
		return err
	}
	return await(ctx, time.Minute, ready)
}

// reach tells of a closed firewall in seconds, where kubeadm takes minutes.
func reach(ctx context.Context, server string) error {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		return &Failure{What: "reach the API server", Err: err, Next: "open TCP to " + server + " from this host; on the control-plane host, airgap status tells whether it is up"}
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
