package pki

import (
	"fmt"
	"os"
	"path"
	"slices"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/node"
)

// ControlPlaneKeys returns the paths of the files that all control-plane hosts share. Source:
// https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/high-availability/.
func ControlPlaneKeys() []string {
	var all []string
	for _, name := range []string{"ca.crt", "ca.key", "sa.pub", "sa.key", "front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.crt", "etcd/ca.key"} {
		all = append(all, path.Join(node.PKIDir, name))
	}
	return all
}

// ReadKeys reads the cluster's shared keys and more files on a control-plane host. The result maps
// each path to its content.
func ReadKeys(m host.Machine, more ...string) (jointoken.ControlPlaneSecrets, error) {
	if err := RefuseDuringCARotation(m, "read the control plane's keys"); err != nil {
		return nil, err
	}
	p := jointoken.ControlPlaneSecrets{}
	for _, name := range append(ControlPlaneKeys(), more...) {
		data, err := os.ReadFile(m.Path(name))
		if err != nil {
			return nil, fmt.Errorf("read the control plane's keys: %w", err)
		}
		p[name] = data
	}
	return p, nil
}

// WriteKeys writes the cluster's keys and the shared files. It ignores all other files in p.
// It overwrites files of an earlier join, also the keys that encrypt Secrets: they may have
// changed since then, and no Secret depends on the file of a host that has not joined.
func WriteKeys(m host.Machine, p jointoken.ControlPlaneSecrets, shared []string) error {
	for _, name := range append(ControlPlaneKeys(), shared...) {
		data, is := p[name]
		if !is {
			return fmt.Errorf("write the control plane's keys: %s is not in the control-plane secrets", name)
		}
		if err := host.WriteFile(m.Path(name), data, modeOf(name)); err != nil {
			return err
		}
	}
	return nil
}

func modeOf(name string) os.FileMode {
	if slices.Contains([]string{".crt", ".pub"}, path.Ext(name)) {
		return 0o644
	}
	return 0o600
}
