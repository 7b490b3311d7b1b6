package kubeadm

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// The functions of this file describe the changes of the steps for --dry-run. Each one matches
// the Run of its step.

func (m Machine) planInit(c Config, n Node, f runtime.Facts) ([]string, error) {
	changes, err := m.planNode("init", fmt.Sprintf("Kubernetes %s, API server at %s", c.Tag(), c.ControlPlaneEndpoint))
	if err != nil || m.finished() {
		return changes, err
	}
	patches, err := m.planPatches(c, n)
	if err != nil {
		return changes, err
	}
	if n.Patches, err = m.patchesFor(c, n); err != nil {
		return changes, err
	}
	text, err := InitDocuments(c, n, f)
	if err != nil {
		return changes, err
	}
	file, err := host.PlanFiles(map[string][]byte{m.Path(leave.ConfigFile): text}, 0o600)
	return slices.Concat(patches, file, changes), err
}

// planNode lists the changes of init and join. They depend on the state of an earlier run.
func (m Machine) planNode(verb, what string) ([]string, error) {
	s, err := node.StateOf(m.Machine)
	if err != nil {
		return nil, err
	}
	switch s {
	case node.Ended:
		return []string{"enable and start kubelet.service, and wait for the node"}, nil
	case node.Began:
		return []string{"kubeadm reset: undo the interrupted " + verb, "kubeadm " + verb + ": " + what}, nil
	default:
		if err := node.RefuseForeignCluster(m.Machine); err != nil {
			return nil, err
		}
		return []string{"enable kubelet.service", "kubeadm " + verb + ": " + what}, nil
	}
}

func (m Machine) finished() bool {
	s, err := node.StateOf(m.Machine)
	return err == nil && s == node.Ended
}

func (m Machine) planJoin(c Config, n Node, material jointoken.JoinMaterial) ([]string, error) {
	changes, err := m.planNode("join", strings.TrimSpace(fmt.Sprintf("node %s, API server at %s", n.Name, material.APIServer)))
	if err != nil || m.finished() {
		return changes, err
	}
	patches, err := m.planPatches(c, n)
	return append(patches, changes...), err
}
