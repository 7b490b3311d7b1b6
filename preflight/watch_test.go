package preflight

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/replay"
)

// TestNextBoot: a running node on each recorded host. Faults that the host already has are no change.
func TestNextBoot(t *testing.T) {
	off := func(ids ...string) func(*Want) {
		return func(w *Want) {
			w.Site.Checks = Settings{}
			for _, id := range ids {
				w.Site.Checks[id] = map[string]string{"severity": "warn"}
			}
		}
	}
	for _, test := range []struct {
		host   string
		change func(*Want)
		want   []string
	}{
		{"rocky9", nil, nil},
		{"rhel10-minimal", nil, []string{"kernel-modules"}}, // an install line that holds today as well
		{"rhel8-cgroup1-podman-swap", nil, nil},             // swap that nothing turns on at boot, and cgroup v1 as today
		{"rocky9-swap-returns", nil, []string{"swap"}},
		{"rocky9-swap-returns", off("swap"), nil},
		{"rocky9-boot-parameters", nil, []string{"kernel-modules", "cgroup-version", "cgroup-controllers", "cpu-count"}},
		{"rocky9-boot-parameters", func(w *Want) { w.PodSubnet = "10.244.0.0/16,fd00::/48" }, []string{"kernel-modules", "cgroup-version", "cgroup-controllers", "cpu-count", "ipv6"}},
		{"rocky9-boot-parameters", off("kernel-modules", "cpu-count"), []string{"cgroup-version", "cgroup-controllers"}},
		{"rocky9-boot-parameters", func(w *Want) { w.AllowCgroupV1 = true }, []string{"kernel-modules", "cgroup-version", "cgroup-controllers", "cpu-count"}},
		{"rocky9-selinux-later", nil, []string{"selinux"}},
		{"rocky9-next-kernel", nil, []string{"kernel-modules"}},
		{"rocky9-data-volumes", nil, []string{"boot-mounts"}},
		{"rocky9-modules-locked-later", nil, []string{"modules-locked"}},
		{"oracle8-uek-ftype0", nil, nil},
		{"rocky9-hardened-later", nil, []string{"kernel-modules", "mount-noexec", "user-namespaces", "proxy-env", "service-drop-ins", "nm-cloud-setup", "sysctl-override"}},
		{"rocky9-strict-later", nil, nil}, // a warning
		{"rocky9-strict-later", func(w *Want) { w.Network = nativeCilium() }, []string{"rp-filter"}},
		{"rocky9-modules-listed", nil, nil},
		{"rocky9-modules-listed", func(w *Want) { w.LoadedAtBoot = []string{"overlay", "nf_conntrack", "vxlan"} }, nil},
		{"rocky9-modules-listed", func(w *Want) { w.LoadedAtBoot = []string{"overlay", "xt_set"} }, []string{"kernel-modules"}},
		{"rocky9", func(w *Want) { w.LoadedAtBoot = []string{"overlay"} }, []string{"kernel-modules"}}, // a deleted airgap.conf
	} {
		t.Run(test.host, func(t *testing.T) {
			want := Want{Roles: []Role{ControlPlane, Worker, Registry}, KubernetesVersion: "1.36.3", PodSubnet: "10.244.0.0/16", Network: network("flannel"),
				NodeAddress: "10.20.0.11", SysctlFile: "/etc/sysctl.d/90-ours.conf"}
			if test.change != nil {
				test.change(&want)
			}
			h, err := replay.Host(recording(t, test.host))
			require.NoError(t, err)
			f, err := facts.GatherNextBoot(t.Context(), h)
			require.NoError(t, err)
			var got []string
			for _, e := range NextBoot(f, want) {
				got = append(got, e.ID)
				require.NotEqual(t, Error, e.Status, e.Found)
				require.NotContains(t, e.Fix, "before the installation")
				require.NotContains(t, e.Fix, "bundle")
			}
			require.Equal(t, test.want, got)
		})
	}
}

// shownUnit is the answer of systemctl about one active service.
func shownUnit(name, enabled string) string {
	return "-- run/systemctl show --\nId=" + name + ".service\nLoadState=loaded\nActiveState=active\nUnitFileState=" + enabled + "\n"
}

// TestNextBootResults: the results name the file and the line.
func TestNextBootResults(t *testing.T) {
	for _, test := range []struct{ name, section, id, found, fix string }{
		{"swap",
			"-- fs/etc/fstab --\n/dev/mapper/rl-root / xfs defaults 0 0\n\n/dev/sdb none swap defaults 0 0\n",
			"swap", "off now; the next boot turns on /dev/sdb (/etc/fstab line 3)", "remove the line"},
		{"SELinux",
			"-- fs/etc/selinux/config --\n# by an audit\nSELINUX=permissive\nSELINUXTYPE=targeted\n",
			"selinux", "enforcing now, permissive after the next boot (/etc/selinux/config line 2)", "SELINUX=enforcing"},
		{"module", "-- fs/etc/modprobe.d/cis.conf --\n\ninstall overlay /bin/false\n", "kernel-modules", `"install overlay" in /etc/modprobe.d/cis.conf line 2: overlay`, "modprobe.d"},
		{"host name", "-- fs/etc/hostname --\n# of the image\ntemplate\n", "hostname", "bank-01 now, template after the next boot (/etc/hostname line 2)", "hostnamectl set-hostname bank-01"},
		{"mount options",
			"-- fs/etc/fstab --\n/dev/mapper/rl-root / xfs defaults 0 0\n/dev/sdb /opt xfs noexec 0 0\n",
			"mount-noexec", "noexec on /opt (/etc/fstab:2, from the next boot on)", ""},
		{"namespaces",
			"-- fs/etc/sysctl.d/60-cis.conf --\nuser.max_pid_namespaces = 0\n",
			"user-namespaces", "/etc/sysctl.d/60-cis.conf:1 sets user.max_pid_namespaces = 0", "remove the line"},
		{"proxy",
			"-- fs/etc/systemd/system.conf.d/a.conf --\n[Manager]\nDefaultEnvironment=http_proxy=http://p:1\n",
			"proxy-env", "/etc/systemd/system.conf.d/a.conf line 2, from the next boot on, sets a proxy", "add to no_proxy"},
		{"drop-in",
			"-- fs/etc/systemd/system/service.d/a.conf --\n[Service]\nPrivateTmp=yes\n",
			"service-drop-ins", "PrivateTmp=yes for kubelet in /etc/systemd/system/service.d/a.conf line 2", "daemon-reload"},
		{"masked modules", shownUnit("systemd-modules-load", "masked"), "kernel-modules", "systemd-modules-load.service is masked", "unmask"},
		{"masked parameters", shownUnit("systemd-sysctl", "masked"), "sysctl-override", "systemd-sysctl.service is masked", "unmask"},
		{"multipathd", shownUnit("multipathd", "enabled") + "-- fs/sys/block/dm-7/dm/uuid --\nmpath-36001\n-- fs/sys/block/dm-7/slaves/sdb --\n" +
			"-- fs/etc/fstab --\n/dev/mapper/rl-root / xfs defaults 0 0\n/dev/sdb /var/lib/kubelet xfs defaults 0 0\n", "multipath", "multipathd has taken that disk", "blacklist"},
		{"no answer", "-- denied/etc/fstab --\npermission denied\n", "swap", "permission denied", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, err := replay.Host(append(recording(t, "rocky9"), test.section...))
			require.NoError(t, err)
			f, err := facts.GatherNextBoot(t.Context(), h)
			require.NoError(t, err)
			entries := NextBoot(f, Want{Network: network("flannel"), NodeAddress: "10.20.0.11", SysctlFile: "/etc/sysctl.d/90-ours.conf"})
			at := slices.IndexFunc(entries, func(e Entry) bool { return e.ID == test.id })
			require.GreaterOrEqual(t, at, 0, entries)
			require.Contains(t, entries[at].Found, test.found)
			require.Contains(t, entries[at].Fix, test.fix)
		})
	}
}
