package kubeadm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// TestPodPatches: kubeadm gives each static pod of a control plane the SELinux type, and keeps its own settings.
func TestPodPatches(t *testing.T) {
	program := hosttest.LabProgram(t, "kubernetes/kubeadm")
	_, m := sized(t)
	c, n := section(t, "{version: 1.36.3}"), Node{Name: "cp1", Address: "192.0.2.11", ControlPlane: true}
	require.NoError(t, m.writePatches(c, n))
	var err error
	n.Patches, err = m.patchesFor(c, n)
	require.NoError(t, err)
	document, err := InitDocuments(c, n, runtime.Facts{OS: "el9", Driver: runtime.Systemd})
	require.NoError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "kubeadm.yaml")
	require.NoError(t, os.WriteFile(file, document, 0o600))
	for _, phase := range []string{"etcd local", "control-plane all"} {
		args := append([]string{"init", "phase"}, strings.Fields(phase)...)
		_, err = host.Local{}.Run(t.Context(), host.Cmd{Name: program, Args: append(args, "--dry-run", "--config", file), Env: []string{"KUBEADM_INIT_DRYRUN_DIR=" + dir}})
		require.NoError(t, err)
	}
	for _, part := range node.StaticPods() {
		text, err := os.ReadFile(filepath.Join(dir, string(part)+".yaml"))
		require.NoError(t, err)
		var pod corev1.Pod
		require.NoError(t, yaml.UnmarshalStrict(text, &pod))
		require.NotNil(t, pod.Spec.SecurityContext.SELinuxOptions, part)
		assert.Equal(t, "spc_t", pod.Spec.SecurityContext.SELinuxOptions.Type, part)
		assert.NotNil(t, pod.Spec.SecurityContext.SeccompProfile, "kubeadm's own setting for %s", part)
	}
}

// TestPatchFiles: a control-plane host has the patches of its static pods, also one from before airgap had
// them, after its upgrade. A worker has none. airgap leaves the files of the site.
func TestPatchFiles(t *testing.T) {
	f, m := sized(t)
	own := section(t, "{version: 1.36.3, overrides: {kubelet: {kubeReserved: {memory: 1Gi}}}}")
	control := Node{ControlPlane: true}
	planned, err := Upgrade{Machine: m, Config: own, Node: control}.plan()
	require.NoError(t, err)
	assert.Len(t, planned, len(node.StaticPods())+1, "the patches and kubeadm: %q", planned)
	require.NoError(t, m.updatePatches(own, control))
	for _, part := range node.StaticPods() {
		assert.Equal(t, podPatch, f.Get(podPatchOf(part)))
	}
	planned, err = m.planPatches(own, control)
	require.NoError(t, err)
	assert.Empty(t, planned)
	f.Put(t, node.PatchesDir+"/etcd1.yaml", "of the site")
	require.NoError(t, m.writePatches(own, Node{}))
	assert.False(t, f.Has(podPatchOf(node.Etcd)))
	assert.Equal(t, "of the site", f.Get(node.PatchesDir+"/etcd1.yaml"))
}
