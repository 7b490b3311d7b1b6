package report

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/replay"
	"airgap.dev/airgap/verify/nodereport"
)

// TestNextBoot: the part has what the next boot of a recorded host would break, and facts that it cannot read.
func TestNextBoot(t *testing.T) {
	node := Settings{Etcd: true, Own: &nodereport.Upstream{}, Units: []string{"containerd.service"}, NextBoot: &BootSettings{Kubernetes: "1.36.3", Network: cni.Needs{Iptables: true}}}
	accepted := node
	accepted.NextBoot = &BootSettings{Checks: preflight.Settings{"swap": {"severity": "warn"}}}
	for name, test := range map[string]struct {
		settings Settings
		host     string
		sections string
		want     []nodereport.BootProblem
	}{
		"nothing changes":   {node, "rocky9", "", nil},
		"the site's choice": {accepted, "rocky9-swap-returns", "", nil},
		"swap returns": {node, "rocky9", "-- fs/etc/fstab --\n/dev/mapper/rl-root / xfs defaults 0 0\n/dev/sdb none swap defaults 0 0\n", []nodereport.BootProblem{{
			Check: "swap", Saw: "off now; the next boot turns on /dev/sdb (/etc/fstab line 2)", Want: "no active swap, now and after the next boot", Fix: "remove the line; if swap is on now, run swapoff -a",
		}}},
		"a deleted list of modules": {node, "rocky9", "-- fs/etc/modules-load.d/airgap.conf --\noverlay\n", []nodereport.BootProblem{{
			Check: "kernel-modules", Saw: "no file in modules-load.d loads at the next boot: br_netfilter, nf_conntrack", Want: "loaded, built in or loadable, now and at the next boot",
			Fix: "write these modules to /etc/modules-load.d/airgap.conf, one per line; or run the same airgap install or airgap join again",
		}}},
		"unreadable": {node, "rocky9", "-- denied/etc/selinux/config --\npermission denied\n", []nodereport.BootProblem{{
			Check: "selinux", Saw: "unknown: open etc/selinux/config: permission denied", Want: "a known state", Fix: unknownFix,
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			recorded, err := replay.Recording(os.DirFS("../../preflight/testdata/hosts"), test.host)
			require.NoError(t, err)
			recorded = append(recorded, "-- fs/etc/modules-load.d/airgap.conf --\noverlay\nbr_netfilter\nnf_conntrack\n"...)
			h, err := replay.Host(append(recorded, test.sections...))
			require.NoError(t, err)
			text, err := json.Marshal(test.settings) // as install writes them for the unit
			require.NoError(t, err)
			var written Settings
			require.NoError(t, json.Unmarshal(text, &written))
			m := kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: h}}}
			parts := slices.DeleteFunc(written.parts(m), func(p nodereport.Part) bool { return p.Name != "nextBoot" })
			require.GreaterOrEqual(t, parts[0].Every, rarely, "the host must not be read each minute")
			r := (&nodereport.Collector{Parts: parts}).Once(t.Context())
			require.Empty(t, r.Unknown)
			require.NotNil(t, r.NextBoot)
			require.Equal(t, test.want, r.NextBoot.Problems)
		})
	}
}

// TestNextBootOlder: the settings of an older airgap have no requirements, so the part is missing.
func TestNextBootOlder(t *testing.T) {
	parts := (Settings{Address: "10.0.0.11"}).parts(kubeadm.Machine{})
	require.False(t, slices.ContainsFunc(parts, func(p nodereport.Part) bool { return p.Name == "nextBoot" }))
}

func TestLimited(t *testing.T) {
	require.Equal(t, "short", limited("short"))
	long := limited(strings.Repeat("한", 1000))
	require.Less(t, len(long), 1010)
	require.True(t, strings.HasSuffix(long, "한 …"), long)
}
