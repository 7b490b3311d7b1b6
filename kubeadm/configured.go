package kubeadm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// configured identifies the configuration with which kubeadm set up or upgraded a host.
type configured struct {
	Version string `json:"version"`        // of Kubernetes: "1.36.3"
	Hash    string `json:"hash,omitempty"` // of the other settings for this kind of host
}

// configuredBy is the configuration of a host that matches c. The hash of a worker does not
// depend on the settings of the control plane.
func (m Machine) configuredBy(c Config, n Node) (configured, error) {
	driver, err := runtime.HostDriver(m.Host)
	if err != nil {
		return configured{}, err
	}
	parts := []object{kubelet(c, runtime.Facts{Driver: driver})}
	if n.ControlPlane {
		parts = append(parts, cluster(c, Node{})) // without the names of one host
	}
	text, err := documents(parts...)
	sum := sha256.Sum256(text)
	return configured{strings.TrimPrefix(c.Version, "v"), hex.EncodeToString(sum[:])}, err
}

func (m Machine) noteConfigured(c Config, n Node) error {
	now, err := m.configuredBy(c, n)
	if err != nil {
		return err
	}
	return host.WriteJSON(m.Path(leave.ConfiguredFile), now)
}

// UpgradeNeeded describes a difference between a joined host and the configuration that only an upgrade
// can apply; "" without a difference, or if the host has not joined.
func (m Machine) UpgradeNeeded(ctx context.Context, c Config, n Node) (string, error) {
	s, err := node.StateOf(m.Machine)
	if err != nil || s != node.Ended {
		return "", err
	}
	have, err := m.configured(ctx)
	if err != nil {
		return "", err
	}
	half, err := host.ReadJSON[configured](m.Path(leave.UpgradedFile))
	if err != nil {
		return "", err
	}
	want, err := m.configuredBy(c, n)
	switch {
	case err != nil:
		return "", err
	case half != configured{}: // the kubelet may differ although the noted configuration matches
		return "unfinished upgrade to Kubernetes " + half.Version, nil
	case have.Version != want.Version:
		return fmt.Sprintf("Kubernetes %s, not %s", have.Version, want.Version), nil
	case have.Hash != "" && have.Hash != want.Hash:
		return "different configuration of Kubernetes " + have.Version, nil
	}
	return "", nil
}

// configured reads the configuration of this host. An older airgap did not save it, but never
// changed the kubelet's version either.
func (m Machine) configured(ctx context.Context) (configured, error) {
	have, err := host.ReadJSON[configured](m.Path(leave.ConfiguredFile))
	if err != nil || have.Version != "" {
		return have, err
	}
	out, err := m.Host.Run(ctx, host.Cmd{Name: "kubelet", Args: []string{"--version"}})
	if err != nil {
		return have, fmt.Errorf("read the kubelet's version: %w", err)
	}
	have.Version = strings.TrimPrefix(strings.TrimSpace(string(out)), "Kubernetes v")
	return have, nil
}
