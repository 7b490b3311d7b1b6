package node

import (
	"os"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/process"
)

// ManifestFlags returns the arguments in the manifest of a static pod, by name. Only a program with the
// capabilities of the pod can read those of its process.
func ManifestFlags(m host.Machine, part Part) (map[string]string, error) {
	text, err := os.ReadFile(m.Path(ManifestOf(part)))
	if err != nil {
		return nil, err
	}
	pod, err := PodIn(text)
	if err != nil {
		return nil, err
	}
	container := pod.Spec.Containers[0]
	flags := process.Flags(append(container.Command, container.Args...))
	for _, variable := range container.Env {
		if flag, is := EtcdFlag(variable.Name); is && part == Etcd && flags[flag] == "" {
			flags[flag] = variable.Value
		}
	}
	return flags, nil
}
