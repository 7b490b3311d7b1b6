package settings

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// hardened is a host that forwards, except for the interfaces: by hand on ens192, and on bond0.100,
// which the site names.
func hardened(t *testing.T) (*hosttest.Fake, host.Machine) {
	t.Helper()
	f, m := hosttest.New(t)
	values(t, f)
	for name, text := range map[string]string{
		"proc/sys/net/ipv4/ip_forward": "1", "proc/sys/net/ipv4/conf/ens192/forwarding": "0", "proc/sys/net/ipv4/conf/bond0.100/forwarding": "0",
		"proc/sys/net/ipv4/conf/ens224/forwarding": "1", "proc/sys/net/ipv4/conf/all/forwarding": "1", "proc/sys/net/ipv4/conf/lo/forwarding": "0",
		"etc/sysctl.d/60-cis.conf":  "net.ipv4.ip_forward = 1\nnet.ipv4.conf.default.forwarding = 0\nnet.ipv4.conf.*.forwarding = 0\n",
		"etc/sysctl.d/70-site.conf": "net.ipv4.conf.bond0/100.forwarding = 0\n",
	} {
		f.Put(t, name, text+"\n")
	}
	return f, m
}

func TestForwardingOfInterfaces(t *testing.T) {
	f, m := hardened(t)
	s := Sysctls(m)
	plan, err := s.Plan(t.Context())
	require.NoError(t, err)
	assert.Subset(t, plan, []string{"net.ipv4.conf.default.forwarding 0 → 1", "net.ipv4.conf.ens192.forwarding 0 → 1"})
	assert.NotContains(t, plan, "net.ipv4.conf.bond0/100.forwarding 0 → 1")
	require.NoError(t, s.Run(t.Context()))
	hosttest.MustBeDone(t, s.Done, true)
	for link, want := range map[string]string{"default": "1", "ens192": "1", "ens224": "1", "bond0.100": "0", "lo": "0"} {
		assert.Equal(t, want, strings.TrimSpace(f.Get("proc/sys/net/ipv4/conf/"+link+"/forwarding")), link)
	}
	assert.Contains(t, f.Get(SysctlFile), "net.ipv4.conf.all.forwarding = 1\nnet.ipv4.conf.*.forwarding = 1\n")
	drifted, err := DriftedSysctls(m)
	require.NoError(t, err)
	assert.Empty(t, drifted)

	// A later file, which is not applied yet, and a change by hand.
	f.Put(t, "etc/sysctl.d/99-cis.conf", "net.ipv4.conf.default.forwarding = 0\nkernel.panic = 0\nnet.ipv4.conf.ens2*.forwarding = 0\n")
	f.Put(t, "proc/sys/net/ipv4/conf/ens192/forwarding", "0\n")
	drifted, err = DriftedSysctls(m)
	require.NoError(t, err)
	assert.Equal(t, []SysctlDrift{
		{"net.ipv4.conf.default.forwarding", "0 from the next boot on (/etc/sysctl.d/99-cis.conf:1)", "1"},
		{"kernel.panic", "0 from the next boot on (/etc/sysctl.d/99-cis.conf:2)", "10"},
		{"net.ipv4.conf.ens192.forwarding", "0", "1"},
		{"net.ipv4.conf.ens224.forwarding", "0 from the next boot on (/etc/sysctl.d/99-cis.conf:3)", "1"},
	}, drifted)

	require.NoError(t, s.Undo(t.Context()))
	for link, want := range map[string]string{"default": "0", "ens192": "0", "ens224": "1", "bond0.100": "0"} {
		assert.Equal(t, want, strings.TrimSpace(f.Get("proc/sys/net/ipv4/conf/"+link+"/forwarding")), link)
	}
	assert.False(t, f.Has(SysctlFile) || f.Has(sysctlUndo))
}

// TestNoSettingForTheNextBoot: a value that is right now, without a file that keeps it.
func TestNoSettingForTheNextBoot(t *testing.T) {
	f, m := hardened(t)
	require.NoError(t, Sysctls(m).Run(t.Context()))
	f.Put(t, SysctlFile, "net.ipv4.ip_forward = 1\n")
	drifted, err := DriftedSysctls(m)
	require.NoError(t, err)
	assert.Contains(t, drifted, SysctlDrift{"kernel.panic", "no setting for the next boot", "10"})
}

// TestNoGlobOnEL8: systemd 239 takes a glob for the name of a parameter.
func TestNoGlobOnEL8(t *testing.T) {
	f, m := hardened(t)
	f.Put(t, "etc/os-release", "VERSION_ID=\"8.10\"\n")
	require.NoError(t, Sysctls(m).Run(t.Context()))
	assert.NotContains(t, f.Get(SysctlFile), "*")
}

// TestUndoOfALaterParameter: a record of an older version lacks parameters that this version sets.
func TestUndoOfALaterParameter(t *testing.T) {
	f, m := hardened(t)
	f.Put(t, sysctlUndo, `{"net.ipv4.ip_forward": 0}`)
	require.NoError(t, Sysctls(m).Run(t.Context()))
	require.NoError(t, Sysctls(m).Undo(t.Context()))
	assert.Equal(t, "0", f.Get("proc/sys/net/ipv4/ip_forward"))
	assert.Equal(t, "0", f.Get("proc/sys/net/ipv4/conf/default/forwarding"))
	assert.Equal(t, "128", f.Get("proc/sys/fs/inotify/max_user_instances"))
}
