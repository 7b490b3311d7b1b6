package reset

import (
	"slices"
	"testing"
)

// TestRemovedUnits: only airgap's services whose unit file is gone are forgotten, with the mark of old and new systemd.
func TestRemovedUnits(t *testing.T) {
	const list = `kubelet.service      not-found failed failed kubelet.service
● airgap-verify.service not-found failed failed airgap-verify.service
containerd.service   loaded    failed failed the site's own
bank-agent.service   not-found failed failed bank-agent.service

`
	if got := removedUnits(list); !slices.Equal(got, []string{"kubelet.service", "airgap-verify.service"}) {
		t.Errorf("got %q", got)
	}
}
