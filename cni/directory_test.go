package cni_test

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/cni/cnitest"
	"airgap.dev/airgap/internal/host"
)

// TestOwnDirectory: no pod has the directory of podman and of other programs, for any plugin and setting.
// Calico's operator creates its pods itself.
func TestOwnDirectory(t *testing.T) {
	upstream := cnitest.Serve(t)
	for _, n := range networks() {
		n.config.Default()
		fetched, _ := upstream.Fetch(t, n.config, n.cluster())
		text := textOf(t, n.objects(t, fetched))
		if strings.Contains(text, `"path":"`+host.SharedCNIDir+`"`) {
			t.Errorf("%s: a pod mounts %s", n.name, host.SharedCNIDir)
		}
		if n.config.Calico.Form == cni.OperatorForm {
			if !strings.Contains(text, `"confDir":"`+host.CNIDir+`"`) {
				t.Errorf("%s: the operator would use its default directory", n.name)
			}
		} else if !strings.Contains(text, `"path":"`+host.CNIDir+`"`) {
			t.Errorf("%s: no pod mounts %s", n.name, host.CNIDir)
		}
	}
}

// TestConfFiles: an upgrade moves these files, and all others in the directory belong to other programs.
func TestConfFiles(t *testing.T) {
	if got := cni.ConfFiles(); !slices.Equal(got, []string{"10-flannel.conflist", "10-calico.conflist", "calico-kubeconfig", "05-cilium.conflist"}) {
		t.Errorf("got %q", got)
	}
}
