package kubeadm

import (
	"testing"

	"airgap.dev/airgap/kubeadm/runtime"
)

func TestPodLogBytes(t *testing.T) {
	for yaml, want := range map[string]int64{
		"version: 1.36.3": 110 * 5 * 10 << 20,
		"version: 1.36.3\noverrides: {kubelet: {maxPods: 20, containerLogMaxFiles: 2, containerLogMaxSize: 50Mi}}": 20 * 2 * 50 << 20,
		"version: 1.36.3\noverrides: {kubelet: {containerLogMaxSize: 0}}":                                          110 * 5 * 10 << 20,
	} {
		if got := PodLogBytes(section(t, yaml), runtime.Facts{OS: "el9", Driver: runtime.Systemd}); got != want {
			t.Errorf("%s: got %d, want %d", yaml, got, want)
		}
	}
}
