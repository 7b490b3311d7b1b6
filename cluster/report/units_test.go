package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/replay"
	"airgap.dev/airgap/verify/nodereport"
)

// TestUnits: a drop-in for all services takes rights from the kubelet and the runtime. The defaults that
// systemctl shows, and other services, do not count.
func TestUnits(t *testing.T) {
	const (
		states = "-- run/systemctl show --property=ActiveState --\nActiveState=active\n\nActiveState=active\n\nActiveState=inactive\n"
		usual  = "CapabilityBoundingSet=cap_chown cap_sys_admin\nSecureBits=0\nTasksMax=4915\n"
		plain  = "-- run/systemctl show --property=Id --\nId=airgap-without-settings.service\nPrivateTmp=no\nUser=\n" + usual
	)
	s := Settings{Units: []string{"containerd.service", "kubelet.service", "airgap-registry.service"}}
	units := func(sections string) ([]nodereport.Unit, error) {
		h, err := replay.Host([]byte(sections))
		require.NoError(t, err)
		return s.units(t.Context(), h)
	}
	got, err := units(states + plain + "\nId=containerd.service\nPrivateTmp=yes\n" + usual + "\nId=kubelet.service\nPrivateTmp=yes\nUser=kube\n" + usual)
	require.NoError(t, err)
	const mounts = "PrivateTmp=yes: the unit gets its own mounts: volumes and containers do not see each other's mounts"
	require.Equal(t, []nodereport.Unit{
		{Name: "containerd.service", State: "active", Restricted: mounts},
		{Name: "kubelet.service", State: "active", Restricted: mounts + "; User=kube: the unit needs root"},
		{Name: "airgap-registry.service", State: "inactive"},
	}, got)
	got, err = units(states + plain + "\nId=containerd.service\nPrivateTmp=no\n" + usual + "\nId=kubelet.service\nPrivateTmp=no\n" + usual)
	require.NoError(t, err)
	require.Empty(t, got[0].Restricted)
	require.Empty(t, got[1].Restricted)
	_, err = units(states + plain)
	require.ErrorContains(t, err, "returned 1 of 3")
}
