package kubeadm

import (
	"os"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/node"
)

// podPatch gives the static pods of the control plane an SELinux type that may use the host's files.
// kubeadm sets no type, and the runtime then starts them as container_t, which may not write to
// /var/lib/etcd (var_lib_t) and /var/log/kubernetes: etcd and the API server do not start on an enforcing
// host (kubernetes/kubeadm issue 279). Without SELinux the runtime ignores the type.
const podPatch = "spec:\n  securityContext:\n    seLinuxOptions:\n      type: spc_t\n"

// podPatchOf is kubeadm's patch for a static pod.
func podPatchOf(part node.Part) string {
	return node.PatchesDir + "/" + string(part) + "0+strategic.yaml"
}

// patches returns kubeadm's patches for a new node, by file.
func (m Machine) patches(c Config, n Node) (map[string][]byte, error) {
	files := map[string][]byte{}
	text, err := m.reservedText(c)
	if text != nil {
		files[m.Path(reservedPatch)] = text
	}
	if n.ControlPlane {
		for _, part := range node.StaticPods() {
			files[m.Path(podPatchOf(part))] = []byte(podPatch)
		}
	}
	return files, err
}

// withPatches makes kubeadm apply the patches of this host, if it has or will have some.
func withPatches(o object, n Node) object {
	if n.Patches != "" {
		o["patches"] = object{"directory": n.Patches}
	}
	return o
}

// patchesFor returns the directory of the patches of a new node; "" without a patch.
func (m Machine) patchesFor(c Config, n Node) (string, error) {
	files, err := m.patches(c, n)
	if err != nil || len(files) == 0 {
		return "", err
	}
	return m.Path(node.PatchesDir), nil
}

// planPatches lists the patches for --dry-run.
func (m Machine) planPatches(c Config, n Node) ([]string, error) {
	files, err := m.patches(c, n)
	if err != nil {
		return nil, err
	}
	return host.PlanFiles(files, 0o644)
}

// writePatches writes the patches of a new node, and removes those of an earlier attempt.
func (m Machine) writePatches(c Config, n Node) error {
	files, err := m.patches(c, n)
	if err != nil {
		return err
	}
	return m.replacePatches(files)
}

// patchesAtUpgrade returns the patches that an upgrade writes. A node from before airgap had the default for
// kubeReserved does not get it, and keeps all its memory for pods: with less, its pods could have no room.
func (m Machine) patchesAtUpgrade(c Config, n Node) (map[string][]byte, error) {
	files, err := m.patches(c, n)
	if err != nil {
		return nil, err
	}
	_, err = os.Stat(m.Path(reservedPatch))
	if err != nil {
		delete(files, m.Path(reservedPatch))
	}
	return files, host.IgnoreMissing(err)
}

// updatePatches writes the patches again before an upgrade.
func (m Machine) updatePatches(c Config, n Node) error {
	files, err := m.patchesAtUpgrade(c, n)
	if err != nil {
		return err
	}
	return m.replacePatches(files)
}

// replacePatches writes these patches, and removes airgap's others.
func (m Machine) replacePatches(files map[string][]byte) error {
	for _, name := range ownPatches() {
		name = m.Path(name)
		change := func() error { return host.Remove(name) }
		if text, wanted := files[name]; wanted {
			change = func() error { return host.WriteFile(name, text, 0o644) }
		}
		if err := change(); err != nil {
			return err
		}
	}
	if entries, err := os.ReadDir(m.Path(node.PatchesDir)); err != nil || len(entries) > 0 {
		return host.IgnoreMissing(err)
	}
	return os.Remove(m.Path(node.PatchesDir))
}

// ownPatches are the patches that a host can have.
func ownPatches() []string {
	all := []string{reservedPatch}
	for _, part := range node.StaticPods() {
		all = append(all, podPatchOf(part))
	}
	return all
}
