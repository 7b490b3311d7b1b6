package preflight

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/auditrules"
	"airgap.dev/airgap/preflight/facts"
)

func TestServerChecks(t *testing.T) {
	options := func(missing ...string) *facts.Facts {
		f := &facts.Facts{Cgroup: facts.Cgroup{Mode: "v2"}, KernelOptions: map[string]string{}}
		for _, o := range append(facts.RequiredOptions("v2"), facts.OptionalOptions()...) {
			f.KernelOptions[o] = "y"
		}
		for _, o := range missing {
			delete(f.KernelOptions, o)
		}
		return f
	}
	level := func(version string, level int) *facts.Facts {
		return &facts.Facts{OS: facts.OS{ID: "rhel", Version: version}, CPULevel: level}
	}
	counted := func(total, free int64) *facts.Facts {
		return &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/", Mount: "/", Device: "8:1", Inodes: total, InodesFree: free}}}
	}
	xfs := func(ftype bool) *facts.Facts {
		return &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/", Mount: "/", Device: "8:1", Type: "xfs"}}, XFS: []facts.XFS{{Device: "8:1", Ftype: ftype}}}
	}
	tmp := func(path string) *facts.Facts {
		return &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/"}, {Path: path, Options: []string{"noexec"}}}}
	}
	latency := func(d time.Duration, err error) *facts.Facts {
		return &facts.Facts{Asked: facts.Asked{EtcdDisk: d, EtcdDiskOutcome: facts.OutcomeOf(err)}}
	}
	controlPlane := Want{Roles: []Role{ControlPlane}}
	flood := []auditrules.Rule{{At: "/f:1", Text: "-S execve"}}
	audited := func(a facts.Audit, state string) *facts.Facts {
		return &facts.Facts{Audit: a, Units: []facts.Unit{{Name: "auditd.service", State: state, Enabled: map[bool]string{true: "enabled", false: "disabled"}[state == "active"]}}}
	}
	parameter := func(name, now, boot, file string) *facts.Facts {
		return &facts.Facts{Sysctls: []facts.Sysctl{{Name: name, Value: now, Boot: boot, File: file}}}
	}
	sets := Want{SysctlFile: "/etc/sysctl.d/90-ours.conf", Sysctls: []BootSysctl{{"fs.inotify.max_user_instances", 8192, true}, {"net.bridge.bridge-nf-call-ip6tables", 1, false}}}
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	expiring := func(in time.Duration) *facts.Facts {
		return &facts.Facts{Time: facts.Time{Now: now}, Certificates: []facts.Certificate{{Path: "/a.crt", NotAfter: now.AddDate(1, 0, 0)},
			{Path: "/b.crt", NotAfter: now.Add(in), NotBefore: now.Add(in).AddDate(-1, 0, 0)}}}
	}
	runChecks(t, []checkTest{
		{"all options", kernelConfig, options(), Want{}, Pass, "options are set"},
		{"no memory cgroup", kernelConfig, options("MEMCG"), Want{}, Fail, "built without MEMCG"},
		{"no BPF, which v1 does not need", kernelConfig, func() *facts.Facts {
			f := options("CGROUP_BPF")
			f.Cgroup.Mode = "v1"
			f.KernelOptions["CGROUP_CPUACCT"] = "y"
			return f
		}(), Want{}, Fail, "CGROUP_DEVICE, CGROUP_FREEZER, CGROUP_SCHED"},
		{"no seccomp", kernelConfig, options("SECCOMP"), Want{}, Warn, "SECCOMP"},
		{"an old CPU on EL 8", cpuLevel, level("8.10", 1), Want{}, Fail, "x86-64-v1"},
		{"v2 on EL 9", cpuLevel, level("9.6", 2), Want{}, Pass, "x86-64-v2"},
		{"v2 on EL 10", cpuLevel, level("10.0", 2), Want{}, Fail, "x86-64-v2"},
		{"Arm", cpuLevel, level("10.0", 0), Want{}, Skip, "not an x86"},
		{"systemd 239 on v2", systemdVersion, &facts.Facts{Systemd: 239, Cgroup: facts.Cgroup{Mode: "v2"}}, Want{}, Warn, "239"},
		{"systemd 239 on v1", systemdVersion, &facts.Facts{Systemd: 239, Cgroup: facts.Cgroup{Mode: "v1"}}, Want{}, Pass, "239"},

		{"no inodes left", inodes, counted(1000, 40), Want{}, Fail, "4 % free on /"},
		{"few inodes left", inodes, counted(1000, 90), Want{}, Warn, "9 % free"},
		{"few, but within the site's limit", inodes, counted(1000, 40), Want{Site: site("inodes", "fail", "1%", "warn", "2%")}, Pass, "4 %"},
		{"btrfs", inodes, counted(0, 0), Want{}, Pass, "no file system"},
		{"XFS of Enterprise Linux 7.2", xfsType, xfs(false), Want{}, Fail, "ftype=0 on /, for /var/lib/containerd"},
		{"XFS", xfsType, xfs(true), Want{CRIO: true}, Pass, "ftype=1"},
		{"ext4", xfsType, &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/", Type: "ext4"}}}, Want{}, Skip, "ext4"},
		{"noexec, the host builds a driver", tmpNoexec, tmp("/var/tmp"), Want{Roles: []Role{GPU}}, Warn, "noexec on /var/tmp"},
		{"noexec, a driver is loaded", tmpNoexec, func() *facts.Facts { f := tmp("/tmp"); f.Driver = "x"; return f }(), Want{Roles: []Role{GPU}}, Pass, "airgap runs nothing"},
		{"a slow disk", etcdSync, latency(60*time.Millisecond, nil), controlPlane, Fail, "60.0 ms"},
		{"a mediocre disk", etcdSync, latency(12*time.Millisecond, nil), controlPlane, Warn, "12.0 ms"},
		{"a mediocre disk, within the site's limit", etcdSync, latency(12*time.Millisecond, nil), Want{Roles: []Role{ControlPlane}, Site: site("etcd-fsync", "warn", "20ms")}, Pass, "12.0 ms"},
		{"a disk that is not writable", etcdSync, latency(0, errors.New("read-only file system")), controlPlane, Error, "read-only"},
		{"a worker", etcdSync, &facts.Facts{}, Want{}, Skip, "no role control-plane"},
		{"etcd runs", etcdSync, &facts.Facts{Asked: facts.Asked{EtcdDiskOutcome: facts.Outcome{Skipped: "etcd runs"}}}, controlPlane, Skip, "etcd runs"},
		{"errors of the USB drive", usbMedia, failing("sdb", 3), Want{MediumDevices: []string{"dm-3", "sdb1"}}, Fail, "sdb: 3 errors"},
		{"errors of another disk", usbMedia, failing("sda", 1), Want{MediumDevices: []string{"dm-3", "sdb1"}}, Warn, "sda: 1 errors"},
		{"a healthy USB drive", usbMedia, &facts.Facts{}, Want{MediumDevices: []string{"dm-3", "sdb1"}}, Pass, "no error"},

		{"every program start is logged", auditd, audited(facts.Audit{Rules: auditrules.Rules{Floods: flood}}, "active"), Want{}, Warn, "the work of containers: -S execve in /f:1"},
		{"a login of any number", auditd, audited(facts.Audit{Rules: auditrules.Rules{Floods: []auditrules.Rule{{At: "/f:1", Text: "-S x", Unset: true}}}}, "active"), Want{}, Warn, "4294967295"},
		{"a lost record is a panic", auditd, audited(facts.Audit{Rules: auditrules.Rules{Panics: &auditrules.Rule{At: "/f:2", Text: "-f 2"}, Backlog: 8192}}, "active"), Want{}, Warn, "-f 2 in /f:2"},
		{"containers cause a panic", auditd, audited(facts.Audit{Rules: auditrules.Rules{Floods: flood, Panics: &auditrules.Rule{At: "/f:2", Text: "-f 2"}, Backlog: 64, BacklogAt: "/f:3"}}, "active"),
			Want{}, Fail, "only 64 records (-b in /f:3)"},
		{"a full disk halts the host", auditd, audited(facts.Audit{Halts: []string{"disk_full_action = HALT"}}, "active"), Want{}, Warn, "disk_full_action = HALT"},
		{"auditd is off", auditd, audited(facts.Audit{Halts: []string{"disk_full_action = HALT"}}, "inactive"), Want{}, Pass, "not active"},
		{"a virus scanner on a worker", antivirus, &facts.Facts{Units: []facts.Unit{{Name: "kesl.service", State: "active", Enabled: "enabled"}}}, Want{CRIO: true}, Warn, "kesl.service is active"},
		{"a virus scanner that is off", antivirus, &facts.Facts{Units: []facts.Unit{{Name: "ds_agent.service", State: "inactive", Enabled: "disabled"}}}, Want{}, Pass, "no scanner found"},
		{"few files", limits, &facts.Facts{Manager: facts.Manager{OpenFiles: 4096}}, Want{}, Warn, "4096 open files"},
		{"few processes", limits, parameter("kernel.pid_max", "32768", "", ""), Want{}, Warn, "kernel.pid_max = 32768"},
		{"no limit", limits, &facts.Facts{Manager: facts.Manager{OpenFiles: -1}, Sysctls: []facts.Sysctl{{Name: "kernel.pid_max", Value: "4194304"}}}, Want{}, Pass, "unlimited open files, 4194304"},

		{"the kernel's default", inotify, parameter("fs.inotify.max_user_instances", "128", "", ""), sets, Pass, "install raises"},
		{"lowered after airgap's file", inotify, parameter("fs.inotify.max_user_instances", "8192", "256", "/etc/sysctl.d/99-a.conf"), sets, Fail, "/etc/sysctl.d/99-a.conf sets"},
		{"namespaces allowed", userNamespaces, parameter("user.max_user_namespaces", "63355", "", ""), Want{}, Pass, "at most 63355"},
		{"disabled by a STIG", userNamespaces, parameter("user.max_user_namespaces", "0", "0", "/etc/sysctl.d/99-stig.conf"), Want{}, Warn, "/etc/sysctl.d/99-stig.conf sets"},
		{"disabled from the next boot on", userNamespaces, parameter("user.max_user_namespaces", "63355", "0", "/etc/sysctl.conf"), Want{}, Warn, "/etc/sysctl.conf sets"},
		{"disabled by hand", userNamespaces, parameter("user.max_user_namespaces", "0", "15000", "/etc/sysctl.conf"), Want{}, Warn, "none can be created"},
		{"an older survey", userNamespaces, &facts.Facts{}, Want{}, Skip, "the survey does not have"},
		{"raised after airgap's file", inotify, parameter("fs.inotify.max_user_instances", "8192", "9000", "/etc/sysctl.d/99-a.conf"), sets, Pass, "raises"},
		{"another parameter after airgap's file", sysctlOverride, parameter("net.bridge.bridge-nf-call-ip6tables", "1", "0", "/etc/sysctl.conf"), sets, Warn,
			"/etc/sysctl.conf sets net.bridge.bridge-nf-call-ip6tables = 0"},
		{"tuned overrides", sysctlOverride, &facts.Facts{Tuned: facts.Tuned{Profile: "latency", LeavesSysctls: true}}, sets, Warn, "profile latency"},
		{"tuned does not override", sysctlOverride, &facts.Facts{Tuned: facts.Tuned{Profile: "latency", LeavesSysctls: false}}, sets, Pass, "no file"},

		{"certificates are valid", certExpiry, expiring(90 * 24 * time.Hour), Want{Managed: true}, Pass, "/b.crt expires on 2027-01-30"},
		{"certificates expire next month", certExpiry, expiring(30 * 24 * time.Hour), Want{Managed: true}, Warn, "2026-12-01"},
		{"certificates have expired", certExpiry, expiring(-time.Hour), Want{Managed: true}, Fail, "2026-10-31"},
		{"certificates of another cluster", certExpiry, expiring(-time.Hour), Want{}, Skip, "airgap has not installed"},
		{"a package that is excluded", dnfFrozen, &facts.Facts{Frozen: []facts.Frozen{{Pattern: "kernel*", File: "/etc/dnf/dnf.conf"}}}, Want{Packages: []string{"kubelet", "kernel-devel"}}, Warn,
			"kernel-devel by /etc/dnf/dnf.conf"},
		{"one that is installed already", dnfFrozen, &facts.Facts{Frozen: []facts.Frozen{{Pattern: "glibc", File: "/x"}}, Packages: []facts.Package{{Name: "glibc"}}}, Want{Packages: []string{"glibc"}},
			Pass, "no package"},
		{"no program", requiredTools, &facts.Facts{}, Want{}, Fail, "missing: ip, iptables, mount, nsenter, ethtool, socat, tc"},
		{"programs in the bundle", requiredTools, &facts.Facts{Tools: []string{"ip", "mount", "nsenter", "ethtool", "tc"}}, Want{Packages: []string{"iptables-nft", "socat"}}, Pass, "in the bundle"},
		{"nftables mode without nft", requiredTools, &facts.Facts{Tools: []string{"ip", "mount", "nsenter", "ethtool", "tc", "iptables", "socat"}}, Want{ProxyMode: "nftables"}, Warn, "missing: nft"},
	})
}

func TestNetworkChecks(t *testing.T) {
	link := func(name, address string) facts.Link {
		return facts.Link{Name: name, Addresses: []netip.Prefix{netip.MustParsePrefix(address)}}
	}
	one := []facts.Link{link("lo", "127.0.0.1/8"), link("e0", "10.0.0.1/24"), link("cni0", "10.244.0.1/24")}
	two := append(one[:2:2], link("e1", "10.1.0.1/24"))
	strict := []facts.Filtering{{Link: "all", RPFilter: 1, ARPFilter: 0, ARPIgnore: 0}, {Link: "e0", RPFilter: 0, ARPFilter: 0, ARPIgnore: 0}}
	proxied := func(manager map[string]string, people ...facts.ProxySetting) *facts.Facts {
		return &facts.Facts{Manager: facts.Manager{Proxy: manager}, Proxies: people}
	}
	cluster := Want{NodeAddress: "10.0.0.1", OtherAddresses: []string{"10.0.0.1", "10.0.0.2", "vip.bank.example"}}
	runChecks(t, []checkTest{
		{"a range for each of three", cidrSize, &facts.Facts{}, Want{PodSubnet: "10.244.0.0/22", Nodes: 3}, Pass, "room for 4 nodes"},
		{"no range for the fifth", cidrSize, &facts.Facts{}, Want{PodSubnet: "10.244.0.0/22", Nodes: 5}, Fail, "room for 4 nodes, and the cluster has 5"},
		{"smaller than the range of one node", cidrSize, &facts.Facts{}, Want{PodSubnet: "10.244.0.0/25", Nodes: 1}, Fail, "room for 0 nodes"},
		{"both families", cidrSize, &facts.Facts{}, Want{PodSubnet: "10.244.0.0/16,fd00::/56", Nodes: 300}, Fail, "10.244.0.0/16 has room for 256"},
		{"no subnet", cidrSize, &facts.Facts{}, Want{}, Skip, "no subnet"},

		{"strict with one network", rpFilter, &facts.Facts{Links: one, Filtering: strict}, Want{}, Pass, "single network"},
		{"strict with two", rpFilter, &facts.Facts{Links: two, Filtering: strict}, Want{}, Warn, "strict on e0, e1"},
		{"strict, which the network plugin does not allow", rpFilter, &facts.Facts{Links: one, Filtering: strict}, Want{Network: cni.Needs{StrictFails: true}}, Fail, "strict on e0"},
		{"loose is the larger number", rpFilter, &facts.Facts{Links: two,
			Filtering: []facts.Filtering{{Link: "all", RPFilter: 2, ARPFilter: 0, ARPIgnore: 0},
				{Link: "e0", RPFilter: 1, ARPFilter: 0, ARPIgnore: 0}}}, Want{Network: cni.Needs{StrictFails: true}}, Pass, "not strict"},
		{"calico exits if all links are loose", rpFilter, &facts.Facts{Links: one, Filtering: []facts.Filtering{{Link: "all", RPFilter: 2, ARPFilter: 0, ARPIgnore: 0}}},
			Want{Network: network("calico")}, Fail, "loose for all links"},
		{"calico with one loose link", rpFilter, &facts.Facts{Links: one,
			Filtering: []facts.Filtering{{Link: "all", RPFilter: 0, ARPFilter: 0, ARPIgnore: 0},
				{Link: "e0", RPFilter: 2, ARPFilter: 0, ARPIgnore: 0}}}, Want{Network: network("calico")}, Pass, "not strict"},
		{"a real server of a load balancer", arpSysctl, &facts.Facts{Links: one, Filtering: []facts.Filtering{{Link: "all", RPFilter: 0, ARPFilter: 0, ARPIgnore: 1}}}, Want{}, Warn, "arp_ignore = 1 on e0"},
		{"ARP defaults", arpSysctl, &facts.Facts{Links: one, Filtering: []facts.Filtering{{Link: "lo", RPFilter: 0, ARPFilter: 1, ARPIgnore: 1}}}, Want{}, Pass, "are 0"},
		{"few connections at every boot", conntrack, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "net.netfilter.nf_conntrack_max", Value: "", Boot: "65536", File: "/etc/sysctl.d/a.conf"}}},
			Want{}, Warn, "/etc/sysctl.d/a.conf sets"},
		{"few connections before kube-proxy", conntrack, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "net.netfilter.nf_conntrack_max", Value: "65536"}}}, Want{}, Pass, "kube-proxy raises"},
		{"few connections in a cluster", conntrack, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "net.netfilter.nf_conntrack_max", Value: "65536"}}}, Want{Managed: true}, Warn, "65536"},
		{"module not loaded", conntrack, &facts.Facts{}, Want{}, Pass, "not loaded"},

		{"Docker drops", nftForeign, &facts.Facts{DropChains: []facts.DropChain{{Family: "ip", Table: "filter", Chain: "FORWARD", Hook: "forward"}}}, Want{}, Warn,
			"chain FORWARD of table ip filter (forward) drops"},
		{"firewalld's own", nftForeign, &facts.Facts{DropChains: []facts.DropChain{{Family: "inet", Table: "firewalld", Chain: "filter_FORWARD", Hook: "forward"}}}, Want{}, Pass, "none"},
		{"the cluster's own", nftForeign, &facts.Facts{DropChains: []facts.DropChain{{Family: "ip", Table: "filter", Chain: "FORWARD", Hook: "forward"}}}, Want{Managed: true}, Skip, "own rules"},
		{"legacy backend", iptablesBackend, &facts.Facts{Iptables: facts.Iptables{Backend: "legacy"}}, Want{}, Warn, "legacy"},
		{"both backends", iptablesBackend, &facts.Facts{Iptables: facts.Iptables{Backend: "nf_tables", Legacy: []string{"nat"}}}, Want{}, Warn, "legacy backend: nat"},
		{"no iptables yet", iptablesBackend, &facts.Facts{}, Want{}, Pass, "no iptables yet"},
		{"NetworkManager", networkManager, &facts.Facts{Units: []facts.Unit{{Name: "NetworkManager.service", State: "active", Enabled: "enabled"}}}, Want{}, Pass, "install configures it"},

		{"the kubelet's proxy", proxyEnv, proxied(map[string]string{"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.1"}), cluster, Fail,
			"systemd's environment sets a proxy that also applies to 10.0.0.2, vip.bank.example"},
		{"the kubelet's proxy, with exceptions", proxyEnv, proxied(map[string]string{"HTTPS_PROXY": "http://p:1", "no_proxy": "10.0.0.0/24, .bank.example"}), cluster, Pass, "none for the cluster's"},
		{"a proxy of login shells", proxyEnv, proxied(nil, facts.ProxySetting{File: "/etc/environment", Name: "https_proxy", Value: "http://p:1"}), cluster, Warn, "/etc/environment sets a proxy"},
		{"exceptions without a proxy", proxyEnv, proxied(nil, facts.ProxySetting{File: "/etc/environment", Name: "no_proxy", Value: "x"}), cluster, Pass, "none"},
		{"no proxy at all", proxyEnv, &facts.Facts{}, cluster, Pass, "none"},
	})
}

func TestGPUChecks(t *testing.T) {
	node := func(packages ...string) Want { return Want{Roles: []Role{GPU}, Packages: packages} }
	card := func(windows ...int64) *facts.Facts {
		return &facts.Facts{PCI: []host.PCIDevice{{Address: "0000:41:00.0", Class: "030200", Windows: windows}}}
	}
	switches := func(driver string, packages ...facts.Package) *facts.Facts {
		return &facts.Facts{Driver: driver, PCI: []host.PCIDevice{{Class: "068000"}, {Class: "068000"}}, Packages: packages}
	}
	const loaded = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build"
	kernel := facts.Kernel{Release: "5.14.0-1.el9.x86_64"}
	runChecks(t, []checkTest{
		{"no address for the memory", gpuBAR, card(16<<20, -1), node(), Fail, "no address for the memory of 0000:41:00.0"},
		{"the kernel gave up on it", gpuBAR, card(16<<20, 0), node(), Fail, "the memory of"},
		{"addresses", gpuBAR, card(16<<20, 64<<30), node(), Pass, "1 checked"},
		{"no windows in the kernel's file", gpuBAR, card(), node(), Pass, "0 checked"},
		{"nouveau", gpuNouveau, &facts.Facts{Modules: map[string]facts.Module{"nouveau": facts.Loaded}}, node(), Fail, "nouveau is loaded"},
		{"nouveau, until install", gpuNouveau, &facts.Facts{Modules: map[string]facts.Module{"nouveau": facts.Loaded}}, Want{Roles: []Role{GPU}, NouveauOff: true}, Warn, "nouveau is loaded"},
		{"nouveau could be loaded", gpuNouveau, &facts.Facts{Modules: map[string]facts.Module{"nouveau": facts.Loadable}}, node(), Pass, "not loaded"},
		{"nouveau on a host without the role", gpuNouveau, &facts.Facts{Modules: map[string]facts.Module{"nouveau": facts.Loaded}}, Want{}, Skip, "no role gpu"},
		{"unsigned", secureBoot, &facts.Facts{SecureBoot: facts.SecureBoot{On: true}}, node("kmod-nvidia-open-dkms"), Fail, "no enrolled key"},
		{"perhaps signed by a vendor", secureBoot, &facts.Facts{SecureBoot: facts.SecureBoot{On: true}}, node(), Warn, "no enrolled key"},
		{"locked down without Secure Boot", secureBoot, &facts.Facts{SecureBoot: facts.SecureBoot{Lockdown: "integrity"}}, node(), Warn, "accepts only signed modules"},
		{"locked down by the command line", secureBoot, &facts.Facts{SecureBoot: facts.SecureBoot{Lockdown: "integrity"}, Kernel: facts.Kernel{Cmdline: "lockdown=integrity ro"}}, node(), Warn,
			"off, and lockdown=integrity on the kernel command line"},
		{"a lockdown that the kernel does not support", secureBoot, &facts.Facts{Kernel: facts.Kernel{Cmdline: "lockdown=integrity ro"}}, node("kmod-nvidia-open-dkms"), Pass, "off"},
		{"built to accept only signed modules", secureBoot, &facts.Facts{SecureBoot: facts.SecureBoot{Enforced: true}}, node("kmod-nvidia-open-dkms"), Fail, "only signed modules"},
		{"signed and enrolled", secureBoot, &facts.Facts{SecureBoot: facts.SecureBoot{On: true, Key: true}}, node("kmod-nvidia-open-dkms"), Pass, "enrolled"},
		{"enforced without Secure Boot", secureBoot, &facts.Facts{Kernel: facts.Kernel{Cmdline: "ro module.sig_enforce=1 quiet"}}, node("kmod-nvidia-open-dkms"), Fail,
			"off, and module.sig_enforce=1 on the kernel command line"},
		{"enforced, without a value", secureBoot, &facts.Facts{Kernel: facts.Kernel{Cmdline: "ro module.sig-enforce"}}, Want{Roles: []Role{GPU}, Installer: true}, Fail, "off, and module.sig-enforce on"},
		{"enforced, perhaps signed by a vendor", secureBoot, &facts.Facts{Kernel: facts.Kernel{Cmdline: "module.sig_enforce=y"}}, node(), Warn, "module.sig_enforce"},
		{"enforced, the driver is loaded", secureBoot, &facts.Facts{Driver: loaded, Kernel: facts.Kernel{Cmdline: "module.sig_enforce=1"}}, node("kmod-nvidia-open-dkms"), Pass,
			"module.sig_enforce=1 on the kernel command line; the driver is loaded"},
		{"enforced without GPU", secureBoot, &facts.Facts{Kernel: facts.Kernel{Cmdline: "module.sig_enforce=1"}}, Want{}, Pass, "no driver modules"},
		{"not enforced", secureBoot, &facts.Facts{Kernel: facts.Kernel{Cmdline: "ro module.sig_enforce=0 xmodule.sig_enforce=1"}}, node("kmod-nvidia-open-dkms"), Pass, "off"},
		{"Secure Boot without GPU", secureBoot, &facts.Facts{SecureBoot: facts.SecureBoot{On: true}}, Want{}, Pass, "no driver modules"},
		{"no headers and compiler", gpuKernelDevel, &facts.Facts{Kernel: kernel}, node("kmod-nvidia-open-dkms"), Fail, "kernel-devel-5.14.0-1.el9.x86_64, gcc, make"},
		{"headers of another kernel", gpuKernelDevel, &facts.Facts{Kernel: kernel, Packages: []facts.Package{{Name: "kernel-devel", Version: "5.14.0", Release: "2.el9", Arch: "x86_64"}}},
			node("kmod-nvidia-open-dkms", "gcc", "make"), Fail, "missing: kernel-devel-5.14.0-1"},
		{"in the bundle", gpuKernelDevel, &facts.Facts{Kernel: kernel}, node("kmod-nvidia-open-dkms", "gcc", "make", "kernel-devel"), Pass, "kernel-devel"},
		{"Oracle's kernel", gpuKernelDevel, &facts.Facts{Kernel: facts.Kernel{Release: "5.15.0-1.el8uek.x86_64"}}, node("kmod-nvidia-open-dkms", "gcc", "make"), Fail, "kernel-uek-devel"},
		{"headers of another kernel in the bundle", gpuKernelDevel, &facts.Facts{Kernel: kernel},
			Want{Roles: []Role{GPU}, Packages: []string{"kmod-nvidia-open-dkms", "gcc", "make", "kernel-devel"}, Headers: []string{"5.14.0-2.el9.x86_64"}}, Fail, "missing: kernel-devel-5.14.0-1"},
		{"headers of this kernel in the bundle", gpuKernelDevel, &facts.Facts{Kernel: kernel},
			Want{Roles: []Role{GPU}, Packages: []string{"kmod-nvidia-open-dkms", "gcc", "make", "kernel-devel"}, Headers: []string{"5.14.0-1.el9.x86_64"}}, Pass, "kernel-devel"},
		{"NVIDIA's installer builds, too", gpuKernelDevel, &facts.Facts{Kernel: kernel}, Want{Roles: []Role{GPU}, Installer: true}, Fail, "missing: kernel-devel"},
		{"nothing is built", gpuKernelDevel, &facts.Facts{Kernel: kernel}, node(), Skip, "does not build a driver"},
		{"two installations", gpuForeign, &facts.Facts{Runfile: true, Packages: []facts.Package{{Name: "nvidia-driver-cuda-libs", Version: "580.82.07"}}}, node(), Fail, "both NVIDIA's installer and RPMs"},
		{"two versions", gpuForeign, &facts.Facts{Driver: loaded, Packages: []facts.Package{{Name: "nvidia-driver-cuda-libs", Version: "570.124.06"}}}, node(), Fail,
			"the loaded module is 580.82.07, the libraries are 570.124.06"},
		{"the installer's, and RPMs in the bundle", gpuForeign, &facts.Facts{Runfile: true}, node("kmod-nvidia-open-dkms"), Fail, "bundle has RPMs"},
		{"the installer's, again", gpuForeign, &facts.Facts{Runfile: true}, Want{Roles: []Role{GPU}, Installer: true}, Pass, "none"},
		{"one version", gpuForeign, &facts.Facts{Driver: loaded, Packages: []facts.Package{{Name: "nvidia-driver-cuda-libs", Version: "580.82.07"}}}, node(), Pass, "580.82.07 by RPM"},
		{"from a system image", gpuForeign, &facts.Facts{Driver: loaded}, Want{Roles: []Role{GPU}}, Pass, "580.82.07 not by RPM or NVIDIA's installer"},
		{"no Fabric Manager", gpuFabric, switches(loaded), node(), Fail, "2 NVSwitches, and no Fabric Manager"},
		{"of another version", gpuFabric, switches(loaded, facts.Package{Name: "nvidia-fabricmanager", Version: "570.1"}), node(), Fail, "570.1 with driver 580.82.07"},
		{"of another version, during an update", gpuFabric, switches(loaded, facts.Package{Name: "nvidia-fabricmanager", Version: "580.95.05"}), node("nvidia-fabricmanager"), Warn,
			"580.95.05 with driver 580.82.07"},
		{"of the driver's version", gpuFabric, switches(loaded, facts.Package{Name: "nvidia-fabricmanager", Version: "580.82.07"}), node(), Pass, "580.82.07"},
		{"in the bundle, before the driver", gpuFabric, switches(""), node("nvidia-fabricmanager"), Pass, "the bundle has it"},
		{"not in the bundle, before the driver", gpuFabric, switches(""), node(), Warn, "no Fabric Manager yet"},
		{"no switches", gpuFabric, card(1, 1), node(), Skip, "NVSwitches"},
	})
}

// failing is a server with errors of one disk.
func failing(disk string, times int) *facts.Facts {
	return &facts.Facts{DiskErrors: []facts.DiskErrors{{Device: disk, Count: times, Last: "I/O error, dev " + disk}}}
}
