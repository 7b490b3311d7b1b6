package kubeadm

import (
	"testing"

	"airgap.dev/airgap/kubeadm/runtime"
)

// TestSetProxyMode: SetProxyMode returns only the mode of airgap.yaml, which verify expects on all
// hosts. ProxyMode also has the default of a host.
func TestSetProxyMode(t *testing.T) {
	el9, el10 := runtime.Facts{OS: "el9", Kernel: "5.14.0-570.el9.x86_64"}, runtime.Facts{OS: "el10", Kernel: "6.12.0-55.el10.x86_64"}
	open, set := Config{}, Config{Overrides: Overrides{KubeProxy: map[string]any{"mode": "nftables"}}}
	for _, test := range []struct{ got, want string }{
		{open.SetProxyMode(), ""}, {open.ProxyMode(el9), "iptables"}, {open.ProxyMode(el10), "nftables"},
		{set.SetProxyMode(), "nftables"}, {set.ProxyMode(el9), "nftables"},
	} {
		if test.got != test.want {
			t.Errorf("got mode %q, want %q", test.got, test.want)
		}
	}
}
