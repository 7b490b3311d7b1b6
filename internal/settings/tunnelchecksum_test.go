package settings

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// TestTunnelChecksum: before the plugin has created the interface, the rule is enough. Later the
// interface itself counts, too. The undo restores both.
func TestTunnelChecksum(t *testing.T) {
	f, m := hosttest.New(t)
	s := TunnelChecksumStep(m, "vxlan.calico")
	hosttest.MustBeDone(t, s.Done, false)
	hosttest.WantPlan(t, f, s, "write "+checksumRule+" (new)")
	require.NoError(t, s.Run(t.Context()))
	hosttest.MustBeDone(t, s.Done, true)
	assert.Contains(t, f.Get(checksumRule), `KERNEL=="vxlan.calico", RUN+="/usr/sbin/ethtool --offload vxlan.calico tx-checksum-ip-generic off"`)
	assert.Zero(t, f.Ran("ethtool"))

	f.Put(t, "/sys/class/net/vxlan.calico/mtu", "1450")
	now := "on"
	f.Answers["ethtool --show-features vxlan.calico"] = func(host.Cmd) ([]byte, error) {
		return []byte("Features for vxlan.calico:\nrx-checksumming: on\ntx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\n\ttx-checksum-ip-generic: " + now + "\n"), nil
	}
	hosttest.MustBeDone(t, s.Done, false)
	require.NoError(t, s.Run(t.Context()))
	assert.Equal(t, 1, f.Ran("ethtool --offload vxlan.calico tx-checksum-ip-generic off"))
	now = "off"
	hosttest.MustBeDone(t, s.Done, true)

	reset := TunnelChecksumStep(m, "")
	for range 2 {
		require.NoError(t, reset.Undo(t.Context()))
	}
	assert.Equal(t, 1, f.Ran("ethtool --offload vxlan.calico tx-checksum-ip-generic on"))
	assert.False(t, f.Has(checksumRule))
	assert.False(t, f.Has(checksumUndo))
}

// TestTunnelChecksumAgain: a run that was killed before udev has read the rule leaves the undo complete.
func TestTunnelChecksumAgain(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, checksumRule, "# the site's\n")
	s := TunnelChecksumStep(m, "flannel.1")
	f.Fails("udevadm control --reload", 1, "no udev")
	require.Error(t, s.Run(t.Context()))
	delete(f.Answers, "udevadm control --reload")
	require.NoError(t, s.Run(t.Context()))
	require.NoError(t, s.Undo(t.Context()))
	assert.Equal(t, "# the site's\n", f.Get(checksumRule))
}
