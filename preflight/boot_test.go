package preflight

import (
	"io"
	"slices"
	"testing"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

// bootWith is the next boot of a host, with a kernel command line.
func bootWith(cmdline string) facts.Boot {
	return facts.Boot{Entry: nextboot.Entry{ID: "a", Release: "5.14.0", Cmdline: cmdline, Place: nextboot.Place{File: "/boot/loader/entries/a.conf", Line: 3}}}
}

// TestBootHosts: hosts that work today, and fail after the next reboot.
func TestBootHosts(t *testing.T) {
	for _, test := range []struct {
		host   string
		change func(*Want)
		fails  []string
		warns  []string
	}{
		{"rocky9-swap-returns", nil, []string{"swap"}, nil},
		{"rocky9-swap-returns", func(w *Want) { w.SwapOff = true }, nil, nil},
		{"rocky9-boot-parameters", nil, []string{"kernel-modules", "cpu-count", "cgroup-version", "cgroup-controllers"}, []string{"memory", "fips", "ipv6"}},
		{"rocky9-boot-parameters", func(w *Want) { w.PodSubnet, w.Addons = "10.244.0.0/16,fd00::/48", nil },
			[]string{"kernel-modules", "cpu-count", "cgroup-version", "cgroup-controllers", "ipv6"}, []string{"memory", "fips"}},
		{"rocky9-selinux-later", nil, []string{"selinux"}, nil},
		{"rocky9-next-kernel", nil, []string{"kernel-modules"}, []string{"kernel-running"}},
		{"rocky9-next-kernel", func(w *Want) { w.ModulesExtra = []string{"5.14.0-611.5.1.el9_7.x86_64"}; w.Network = network("cilium") }, []string{"kernel-modules"}, []string{"kernel-running"}},
		{"rocky9-boot-scripts", nil, []string{"kernel-modules", "memory", "mount-noexec", "user-namespaces", "proxy-env"},
			[]string{"swap", "boot-mounts", "service-drop-ins", "boot-commands"}},
		{"rocky9", nil, nil, nil},
	} {
		t.Run(test.host, func(t *testing.T) {
			want := Want{Roles: []Role{ControlPlane, Worker}, OS: "el9", KubernetesVersion: "1.36.3", Addons: []string{"harbor"}}
			want.NodeAddress, want.PodSubnet, want.Network = "10.20.0.11", "10.244.0.0/16", network("flannel")
			if test.change != nil {
				test.change(&want)
			}
			report, err := Run(t.Context(), gather(t, test.host), want, Choice{Only: []string{
				"kernel-running", "kernel-modules", "cpu-count", "memory", "swap", "cgroup-version", "cgroup-controllers", "selinux", "fips", "ipv6",
				"mount-noexec", "boot-mounts", "user-namespaces", "proxy-env", "service-drop-ins", "boot-commands",
			}})
			if err != nil {
				t.Fatal(err)
			}
			if fails, warns := ids(report, Fail), ids(report, Warn); !slices.Equal(fails, test.fails) || !slices.Equal(warns, test.warns) || len(ids(report, Error)) > 0 {
				t.Errorf("fails %q, want %q; warns %q, want %q; errors %q", fails, test.fails, warns, test.warns, ids(report, Error))
			}
			if test.change == nil && test.host != "rocky9" {
				golden(t, test.host+".txt", func(w io.Writer) error { return notPassed(w, report) })
			}
		})
	}
}

func TestBootChecks(t *testing.T) {
	boot := func(f facts.Facts, cmdline string) *facts.Facts {
		f.Boot = bootWith(cmdline)
		return &f
	}
	swaps := func(f facts.Facts, by, file string) *facts.Facts {
		f.Boot.Swap = []nextboot.Swap{{What: "/dev/sdb", By: by, Place: nextboot.Place{File: file, Line: 4}}}
		return &f
	}
	zram := swaps(*boot(facts.Facts{Systemd: 252}, "systemd.zram=0"), nextboot.ByZram, "/usr/lib/systemd/zram-generator.conf")
	zram.Boot.Entry.Cmdline = "systemd.zram=0"
	fstab := swaps(facts.Facts{Systemd: 252, Kernel: facts.Kernel{Cmdline: "systemd.swap=no"}}, nextboot.ByFstab, "/etc/fstab")
	modes := func(now, mode, kind string, relabel bool) *facts.Facts {
		return &facts.Facts{
			Security: facts.Security{SELinux: now}, Packages: []facts.Package{{Name: containerPolicy}},
			Boot: facts.Boot{SELinux: nextboot.SELinux{Mode: mode, ModeLine: 2, Type: kind, TypeLine: 5, Relabel: relabel}},
		}
	}
	without := modes("permissive", "enforcing", "targeted", false)
	without.Packages = nil
	blocked := func(by string, state facts.Module) *facts.Facts {
		return &facts.Facts{Modules: all(state, nil), Boot: facts.Boot{Blocked: []nextboot.Block{{Module: "br_netfilter", By: by, Place: nextboot.Place{File: "/etc/modprobe.d/a.conf", Line: 7}}}}}
	}
	installed := blocked("install", facts.Loadable)
	installed.Modules["br_netfilter"] = facts.Blocked
	now := func(cmdline string) *facts.Facts {
		return &facts.Facts{CPUs: 8, Memory: 16 << 30, Cgroup: facts.Cgroup{Mode: "v2"}, Modules: all(facts.Loadable, nil), Kernel: facts.Kernel{Cmdline: cmdline}}
	}
	host := *now("")
	el9 := facts.Facts{OS: facts.OS{ID: "rhel", Version: "9.6"}, Cgroup: facts.Cgroup{Mode: "v2", Controllers: []string{"cpu", "cpuset", "memory", "pids"}}}
	el8 := facts.Facts{OS: facts.OS{ID: "rhel", Version: "8.10"}, Cgroup: facts.Cgroup{Mode: "v1"}}
	cp := Want{Roles: []Role{ControlPlane}}
	pages := host
	pages.HugePages = facts.HugePages{Reserved: 14 << 30, Size: 2 << 20}
	sysctl := host
	sysctl.HugePages, sysctl.Sysctls = facts.HugePages{Reserved: 0, Size: 2 << 20}, []facts.Sysctl{{Name: "vm.nr_hugepages", Value: "0", Boot: "7168", File: "/etc/sysctl.d/90-db.conf"}}
	runChecks(t, []checkTest{
		{"fstab", swap, swaps(facts.Facts{}, nextboot.ByFstab, "/etc/fstab"), Want{}, Fail, "off now; the next boot turns on /dev/sdb (/etc/fstab line 4)"},
		{"fstab, and install", swap, swaps(facts.Facts{}, nextboot.ByFstab, "/etc/fstab"), Want{SwapOff: true}, Pass, "install turns it off"},
		{"fstab under systemd.swap=no", swap, fstab, Want{}, Pass, "none"},
		{"fstab under systemd.swap=no on EL 8", swap, &facts.Facts{Systemd: 239, Kernel: fstab.Kernel, Boot: fstab.Boot}, Want{}, Fail, "/etc/fstab line 4"},
		{"zram is off in the entry", swap, zram, Want{}, Pass, "none"},
		{"swap-extra", swap, boot(facts.Facts{Systemd: 257}, "systemd.swap-extra=/dev/sdc:pri=5"), Want{SwapOff: true}, Fail, "/dev/sdc (/boot/loader/entries/a.conf line 3)"},
		{"Azure's agent", swap, swaps(facts.Facts{}, nextboot.ByAgent, "/etc/waagent.conf"), Want{SwapOff: true}, Fail, "/etc/waagent.conf line 4"},
		{"a script", swap, swaps(facts.Facts{}, nextboot.ByScript, "/etc/rc.d/rc.local"), Want{SwapOff: true}, Warn, "may turn on /dev/sdb (/etc/rc.d/rc.local line 4)"},
		{"fstab is unreadable", swap, &facts.Facts{Unknown: []facts.Unknown{{Fact: "bootSwap", Reason: "open etc/fstab: permission denied"}}}, Want{}, Error, "permission denied"},

		{"setenforce 0", selinux, without, Want{}, Fail, "permissive now, enforcing after the next boot (/etc/selinux/config line 2), without"},
		{"setenforce 0, with the policy", selinux, modes("permissive", "enforcing", "targeted", false), Want{}, Pass, "with container-selinux"},
		{"disabled, enforcing later", selinux, modes("disabled", "enforcing", "targeted", false), Want{}, Fail, "disabled now, enforcing"},
		{"disabled, permissive later", selinux, modes("disabled", "permissive", "targeted", true), Want{}, Warn, "disabled now, permissive"},
		{"MLS", selinux, modes("enforcing", "enforcing", "mls", false), Want{}, Fail, `the policy "mls" (/etc/selinux/config line 5)`},
		{"disabled later", selinux, modes("enforcing", "disabled", "targeted", false), Want{}, Warn, "disabled after the next boot"},
		{"no valid mode", selinux, modes("enforcing", "unset", "targeted", false), Want{}, Fail, "unset"},
		{"an older survey", selinux, modes("enforcing", "", "", false), Want{}, Pass, "enforcing, with"},
		{"disabled on EL 9", selinux, modes("disabled", "disabled", "targeted", false), Want{}, Pass, "disabled"},

		{"blacklist", kernelModules, blocked("blacklist", facts.Loaded), Want{}, Fail, `at the next boot, disabled by "blacklist br_netfilter" in /etc/modprobe.d/a.conf line 7: br_netfilter`},
		{"blacklist of a built-in module", kernelModules, blocked("blacklist", facts.BuiltIn), Want{}, Pass, "available"},
		{"install", kernelModules, installed, Want{}, Fail, `disabled by "install br_netfilter" in /etc/modprobe.d/a.conf line 7: br_netfilter`},
		{"module_blacklist", kernelModules, now("module_blacklist=vxlan,br-netfilter"), Want{}, Fail, "disabled by module_blacklist=br-netfilter on the kernel command line: br_netfilter"},
		{"modprobe.blacklist", kernelModules, now("modprobe.blacklist=overlay"), Want{}, Fail, "at the next boot, disabled by modprobe.blacklist=overlay"},
		{"nomodule later", kernelModules, boot(host, "nomodule"), Want{}, Fail, "at the next boot, disabled by nomodule in /boot/loader/entries/a.conf line 3"},
		{"one of two modules", kernelModules, boot(host, "module_blacklist=xt_MASQUERADE"), Want{}, Pass, "available"},

		{"isolated", cpuCount, now("isolcpus=2-7"), cp, Warn, "2 of 8: isolcpus=2-7 in /proc/cmdline"},
		{"isolated later", cpuCount, boot(host, "isolcpus=domain,managed_irq,1-N"), cp, Fail, "1 of 8"},
		{"only interrupts", cpuCount, now("isolcpus=managed_irq,1-7"), cp, Pass, "8"},
		{"no ticks", cpuCount, now("nohz_full=4-31"), cp, Pass, "4 of 8"},
		{"every second", cpuCount, now("isolcpus=0-7:1/2,1,3,5"), cp, Fail, "1 of 8"},
		{"a limit", cpuCount, boot(host, "maxcpus=2"), cp, Warn, "2 of 8: maxcpus=2"},
		{"damaged lists", cpuCount, now("isolcpus=x-,9999999999999-1:0/0,-,: nohz_full"), cp, Pass, "8"},

		{"huge pages now", memory, &pages, cp, Warn, "2.1 GB; 17.2 GB without 15.0 GB of huge pages"},
		{"huge pages later", memory, boot(host, "hugepagesz=1G hugepages=15"), cp, Fail,
			"1024 MiB; 17.2 GB without 16.1 GB of huge pages after the next boot (hugepages=15 in /boot/loader/entries/a.conf line 3)"},
		{"of each node", memory, boot(host, "default_hugepagesz=2M hugepages=0:2048,1:2048"), cp, Pass, "8.6 GB"},
		{"by a sysctl", memory, &sysctl, cp, Warn, "vm.nr_hugepages = 7168 in /etc/sysctl.d/90-db.conf"},
		{"mem=", memory, boot(host, "mem=1G"), cp, Fail, "mem=1G in /boot/loader/entries/a.conf"},
		{"absurd numbers", memory, boot(host, "hugepagesz=8589934592G hugepages=2 hugepagesz=4611686018427387904 hugepages=3"), cp, Fail, "0 MiB"},

		{"v1 later", cgroupVersion, boot(el9, "systemd.unified_cgroup_hierarchy=0"), Want{}, Fail, "v2 now, v1 after the next boot: systemd.unified_cgroup_hierarchy=0 in /boot"},
		{"v2 later", cgroupVersion, boot(el8, "systemd.unified_cgroup_hierarchy"), Want{}, Fail, "v1 now, v2 after"},
		{"v2 once, by hand", cgroupVersion, boot(facts.Facts{OS: el8.OS, Cgroup: el9.Cgroup}, "quiet"), Want{}, Fail, "v1 after the next boot: the default"},
		{"v2 stays", cgroupVersion, boot(el9, "quiet"), Want{}, Pass, "v2"},
		{"no memory controller later", cgroupControllers, boot(el9, "cgroup_disable=memory,rdma"), Want{}, Fail, "after the next boot: memory"},
		{"another controller", cgroupControllers, boot(el9, "cgroup_disable=rdma"), Want{}, Pass, "memory"},

		{"IPv6 off", ipv6, now("ipv6.disable=1"), Want{}, Pass, "nothing in the plan needs IPv6"},
		{"IPv6 off, with add-ons", ipv6, now("ipv6.disable=1"), Want{Addons: []string{"harbor"}}, Warn, "/proc/cmdline"},
		{"IPv6 off later", ipv6, boot(host, "ipv6.disable=1"), Want{ServiceSubnet: "10.96.0.0/12,fd01::/112"}, Fail, "from the next boot on"},
		{"FIPS later", fips, boot(host, "fips=1"), Want{}, Warn, "on after the next boot"},
	})
}
