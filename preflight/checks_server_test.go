package preflight

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/host"
)

func TestServerChecks(t *testing.T) {
	options := func(lacking ...string) *Facts {
		f := &Facts{Cgroup: Cgroup{Mode: "v2"}, KernelOptions: map[string]string{}}
		for _, o := range append(requiredOptions("v2"), optionalOptions()...) {
			f.KernelOptions[o] = "y"
		}
		for _, o := range lacking {
			delete(f.KernelOptions, o)
		}
		return f
	}
	level := func(version string, level int) *Facts {
		return &Facts{OS: OS{ID: "rhel", Version: version}, CPULevel: level}
	}
	counted := func(total, free int64) *Facts {
		return &Facts{Filesystems: []Filesystem{{Path: "/", Mount: "/", Device: "8:1", Inodes: total, InodesFree: free}}}
	}
	xfs := func(ftype bool) *Facts {
		return &Facts{Filesystems: []Filesystem{{Path: "/", Mount: "/", Device: "8:1", Type: "xfs"}}, XFS: []XFS{{"8:1", ftype}}}
	}
	tmp := func(path string) *Facts {
		return &Facts{Filesystems: []Filesystem{{Path: "/"}, {Path: path, Options: []string{"noexec"}}}}
	}
	latency := func(d time.Duration, err error) *Facts {
		return &Facts{Asked: Asked{EtcdDisk: d, EtcdDiskTry: Tried(err)}}
	}
	controlPlane := Want{Roles: []Role{ControlPlane}}
	audited := func(a Audit, state string) *Facts {
		return &Facts{Audit: a, Units: []Unit{{"auditd.service", state, "enabled"}}}
	}
	parameter := func(name, now, boot, file string) *Facts {
		return &Facts{Sysctls: []Sysctl{{name, now, boot, file}}}
	}
	sets := Want{SysctlFile: "/etc/sysctl.d/90-ours.conf", Sysctls: []BootSysctl{{"fs.inotify.max_user_instances", 8192, true}, {"net.bridge.bridge-nf-call-ip6tables", 1, false}}}
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	ending := func(in time.Duration) *Facts {
		return &Facts{Time: Time{Now: now}, Certificates: []Certificate{{Path: "/a.crt", NotAfter: now.AddDate(1, 0, 0)}, {Path: "/b.crt", NotAfter: now.Add(in), NotBefore: now.Add(in).AddDate(-1, 0, 0)}}}
	}
	runChecks(t, []checkTest{
		{"nothing lacks", kernelConfig, options(), Want{}, Pass, "all there"},
		{"no control of memory", kernelConfig, options("MEMCG"), Want{}, Fail, "built without MEMCG"},
		{"no BPF, which v1 does without", kernelConfig, func() *Facts {
			f := options("CGROUP_BPF")
			f.Cgroup.Mode = "v1"
			f.KernelOptions["CGROUP_CPUACCT"] = "y"
			return f
		}(), Want{}, Fail, "CGROUP_DEVICE, CGROUP_FREEZER, CGROUP_SCHED"},
		{"no seccomp", kernelConfig, options("SECCOMP"), Want{}, Warn, "SECCOMP"},
		{"an old processor on EL 8", cpuLevel, level("8.10", 1), Want{}, Fail, "x86-64-v1"},
		{"v2 on EL 9", cpuLevel, level("9.6", 2), Want{}, Pass, "x86-64-v2"},
		{"v2 on EL 10", cpuLevel, level("10.0", 2), Want{}, Fail, "x86-64-v2"},
		{"Arm", cpuLevel, level("10.0", 0), Want{}, Skip, "not an x86"},
		{"systemd 239 on v2", systemdVersion, &Facts{Systemd: 239, Cgroup: Cgroup{Mode: "v2"}}, Want{}, Warn, "239"},
		{"systemd 239 on v1", systemdVersion, &Facts{Systemd: 239, Cgroup: Cgroup{Mode: "v1"}}, Want{}, Pass, "239"},

		{"no inodes left", inodes, counted(1000, 40), Want{}, Fail, "4 % free on /"},
		{"few inodes left", inodes, counted(1000, 90), Want{}, Warn, "9 % free"},
		{"few, but the site says so", inodes, counted(1000, 40), Want{Site: site("inodes", "fail", "1%", "warn", "2%")}, Pass, "4 %"},
		{"btrfs", inodes, counted(0, 0), Want{}, Pass, "no file system"},
		{"XFS of Enterprise Linux 7.2", xfsType, xfs(false), Want{}, Fail, "ftype=0 on /, for /var/lib/containerd"},
		{"XFS", xfsType, xfs(true), Want{CRIO: true}, Pass, "ftype=1"},
		{"ext4", xfsType, &Facts{Filesystems: []Filesystem{{Path: "/", Type: "ext4"}}}, Want{}, Skip, "ext4"},
		{"noexec, a driver is to be built", tmpNoexec, tmp("/var/tmp"), Want{Roles: []Role{GPU}}, Warn, "noexec on /var/tmp"},
		{"noexec, a driver is there", tmpNoexec, func() *Facts { f := tmp("/tmp"); f.Driver = "x"; return f }(), Want{Roles: []Role{GPU}}, Pass, "nothing of ours"},
		{"a slow disk", etcdSync, latency(60*time.Millisecond, nil), controlPlane, Fail, "60.0 ms"},
		{"a disk that will do", etcdSync, latency(12*time.Millisecond, nil), controlPlane, Warn, "12.0 ms"},
		{"a disk that will do, by the site", etcdSync, latency(12*time.Millisecond, nil), Want{Roles: []Role{ControlPlane}, Site: site("etcd-fsync", "warn", "20ms")}, Pass, "12.0 ms"},
		{"a disk that cannot be written", etcdSync, latency(0, errors.New("read-only file system")), controlPlane, Error, "read-only"},
		{"a worker", etcdSync, &Facts{}, Want{}, Skip, "no control-plane role"},
		{"etcd is there", etcdSync, &Facts{Asked: Asked{EtcdDiskTry: Try{Left: "etcd runs"}}}, controlPlane, Skip, "etcd runs"},
		{"the stick breaks", usbMedia, &Facts{DiskErrors: []DiskErrors{{"sdb", 3, "I/O error, dev sdb"}}}, Want{MediumDevice: "sdb1"}, Fail, "sdb: 3 errors"},
		{"another disk breaks", usbMedia, &Facts{DiskErrors: []DiskErrors{{"sda", 1, "I/O error, dev sda"}}}, Want{MediumDevice: "sdb1"}, Warn, "sda: 1 errors"},
		{"a whole stick", usbMedia, &Facts{}, Want{MediumDevice: "sdb1"}, Pass, "no error"},

		{"each program is logged", auditd, audited(Audit{Execve: []string{"-a always,exit -S execve"}}, "active"), Want{}, Warn, "each start"},
		{"a full log halts", auditd, audited(Audit{Halts: []string{"disk_full_action = HALT"}}, "active"), Want{}, Warn, "disk_full_action = HALT"},
		{"auditd is off", auditd, audited(Audit{Halts: []string{"disk_full_action = HALT"}}, "inactive"), Want{}, Pass, "not active"},
		{"a virus scanner on a worker", antivirus, &Facts{Units: []Unit{{"kesl.service", "active", "enabled"}}}, Want{CRIO: true}, Warn, "kesl.service runs"},
		{"a virus scanner that is off", antivirus, &Facts{Units: []Unit{{"ds_agent.service", "inactive", "disabled"}}}, Want{}, Pass, "none that is known"},
		{"services without rights for others", umask, &Facts{Umask: Umask{Units: "0077", File: "/etc/x.conf"}}, Want{}, Warn,
			"UMask=0077 for kubelet, by /etc/x.conf for all services; UMask=0077 for containerd"},
		{"the kubelet excepted, the runtime not", umask, &Facts{Umask: Umask{Units: "0077", File: "/etc/x.conf", Own: map[string]string{"kubelet": "0022", "containerd": "0022"}}},
			Want{CRIO: true}, Warn, "UMask=0077 for crio"},
		{"both excepted", umask, &Facts{Umask: Umask{Units: "0077", File: "/etc/x.conf", Own: map[string]string{"kubelet": "0022", "containerd": "0022"}}}, Want{}, Pass, "022"},
		{"a drop-in of EL 8 that nobody reads", umask, &Facts{Systemd: 239, Umask: Umask{Units: "0077", File: "/etc/x.conf"}}, Want{}, Pass, "022"},
		{"people without rights for others", umask, &Facts{Umask: Umask{Login: "077"}}, Want{}, Pass, "077 at login"},
		{"few files", limits, &Facts{Manager: Manager{OpenFiles: 4096}}, Want{}, Warn, "4096 open files"},
		{"few processes", limits, parameter("kernel.pid_max", "32768", "", ""), Want{}, Warn, "kernel.pid_max = 32768"},
		{"no limit", limits, &Facts{Manager: Manager{OpenFiles: -1}, Sysctls: []Sysctl{{Name: "kernel.pid_max", Value: "4194304"}}}, Want{}, Pass, "any number of open files, 4194304"},

		{"the kernel's default", inotify, parameter("fs.inotify.max_user_instances", "128", "", ""), sets, Pass, "install raises"},
		{"lowered after us", inotify, parameter("fs.inotify.max_user_instances", "8192", "256", "/etc/sysctl.d/99-a.conf"), sets, Fail, "/etc/sysctl.d/99-a.conf sets"},
		{"namespaces that nobody took away", userNamespaces, parameter("user.max_user_namespaces", "63355", "", ""), Want{}, Pass, "at most 63355"},
		{"none by a STIG", userNamespaces, parameter("user.max_user_namespaces", "0", "0", "/etc/sysctl.d/99-stig.conf"), Want{}, Warn, "/etc/sysctl.d/99-stig.conf sets"},
		{"none from the next boot on", userNamespaces, parameter("user.max_user_namespaces", "63355", "0", "/etc/sysctl.conf"), Want{}, Warn, "/etc/sysctl.conf sets"},
		{"none, by hand", userNamespaces, parameter("user.max_user_namespaces", "0", "15000", "/etc/sysctl.conf"), Want{}, Warn, "none can be made"},
		{"a survey of before", userNamespaces, &Facts{}, Want{}, Skip, "the facts have no"},
		{"raised after us", inotify, parameter("fs.inotify.max_user_instances", "8192", "9000", "/etc/sysctl.d/99-a.conf"), sets, Pass, "raises"},
		{"another parameter after us", sysctlOverride, parameter("net.bridge.bridge-nf-call-ip6tables", "1", "0", "/etc/sysctl.conf"), sets, Warn,
			"/etc/sysctl.conf sets net.bridge.bridge-nf-call-ip6tables = 0"},
		{"tuned has the last word", sysctlOverride, &Facts{Tuned: Tuned{"latency", true}}, sets, Warn, "profile latency"},
		{"tuned gives way", sysctlOverride, &Facts{Tuned: Tuned{"latency", false}}, sets, Pass, "no file"},

		{"certificates hold", certExpiry, ending(90 * 24 * time.Hour), Want{Ours: true}, Pass, "/b.crt ends on 2027-01-30"},
		{"certificates end next month", certExpiry, ending(30 * 24 * time.Hour), Want{Ours: true}, Warn, "2026-12-01"},
		{"certificates have ended", certExpiry, ending(-time.Hour), Want{Ours: true}, Fail, "2026-10-31"},
		{"another's certificates", certExpiry, ending(-time.Hour), Want{}, Skip, "no cluster of airgap's"},
		{"a package that is excluded", dnfFrozen, &Facts{Frozen: []Frozen{{"kernel*", "/etc/dnf/dnf.conf"}}}, Want{Packages: []string{"kubelet", "kernel-devel"}}, Warn, "kernel-devel by /etc/dnf/dnf.conf"},
		{"one that is installed already", dnfFrozen, &Facts{Frozen: []Frozen{{"glibc", "/x"}}, Packages: []Package{{Name: "glibc"}}}, Want{Packages: []string{"glibc"}}, Pass, "none"},
		{"no program", toolsThere, &Facts{}, Want{}, Fail, "missing: ip, iptables, mount, nsenter, ethtool, socat, tc"},
		{"programs in the bundle", toolsThere, &Facts{Tools: []string{"ip", "mount", "nsenter", "ethtool", "tc"}}, Want{Packages: []string{"iptables-nft", "socat"}}, Pass, "in the bundle"},
		{"nftables mode without nft", toolsThere, &Facts{Tools: []string{"ip", "mount", "nsenter", "ethtool", "tc", "iptables", "socat"}}, Want{ProxyMode: "nftables"}, Warn, "missing: nft"},
	})
}

func TestNetworkChecks(t *testing.T) {
	link := func(name, address string) Link {
		return Link{Name: name, Addresses: []netip.Prefix{netip.MustParsePrefix(address)}}
	}
	one := []Link{link("lo", "127.0.0.1/8"), link("e0", "10.0.0.1/24"), link("cni0", "10.244.0.1/24")}
	two := append(one[:2:2], link("e1", "10.1.0.1/24"))
	strict := []Filtering{{"all", 1, 0, 0}, {"e0", 0, 0, 0}}
	proxied := func(manager map[string]string, people ...ProxySetting) *Facts {
		return &Facts{Manager: Manager{Proxy: manager}, Proxies: people}
	}
	cluster := Want{NodeAddress: "10.0.0.1", OtherAddresses: []string{"10.0.0.1", "10.0.0.2", "vip.bank.example"}}
	runChecks(t, []checkTest{
		{"a range for each of three", cidrSize, &Facts{}, Want{PodSubnet: "10.244.0.0/22", Nodes: 3}, Pass, "room for 4 nodes"},
		{"no range for the fifth", cidrSize, &Facts{}, Want{PodSubnet: "10.244.0.0/22", Nodes: 5}, Fail, "room for 4 nodes, and there are 5"},
		{"less than a node's", cidrSize, &Facts{}, Want{PodSubnet: "10.244.0.0/25", Nodes: 1}, Fail, "room for 0 nodes"},
		{"both families", cidrSize, &Facts{}, Want{PodSubnet: "10.244.0.0/16,fd00::/56", Nodes: 300}, Fail, "10.244.0.0/16 has room for 256"},
		{"no subnet", cidrSize, &Facts{}, Want{}, Skip, "no subnet"},

		{"strict with one network", rpFilter, &Facts{Links: one, Filtering: strict}, Want{}, Pass, "single network"},
		{"strict with two", rpFilter, &Facts{Links: two, Filtering: strict}, Want{}, Warn, "strict on e0, e1"},
		{"strict, and the network plugin cannot", rpFilter, &Facts{Links: one, Filtering: strict}, Want{Network: cni.Needs{StrictFails: true}}, Fail, "strict on e0"},
		{"loose is the larger number", rpFilter, &Facts{Links: two, Filtering: []Filtering{{"all", 2, 0, 0}, {"e0", 1, 0, 0}}}, Want{Network: cni.Needs{StrictFails: true}}, Pass, "not strict"},
		{"calico ends where all links are loose", rpFilter, &Facts{Links: one, Filtering: []Filtering{{"all", 2, 0, 0}}}, Want{Network: network("calico")}, Fail, "loose for all links"},
		{"calico with one loose link", rpFilter, &Facts{Links: one, Filtering: []Filtering{{"all", 0, 0, 0}, {"e0", 2, 0, 0}}}, Want{Network: network("calico")}, Pass, "not strict"},
		{"a real server of a balancer", arpSysctl, &Facts{Links: one, Filtering: []Filtering{{"all", 0, 0, 1}}}, Want{}, Warn, "arp_ignore = 1 on e0"},
		{"ARP as it comes", arpSysctl, &Facts{Links: one, Filtering: []Filtering{{"lo", 0, 1, 1}}}, Want{}, Pass, "are 0"},
		{"few connections at every boot", conntrack, &Facts{Sysctls: []Sysctl{{"net.netfilter.nf_conntrack_max", "", "65536", "/etc/sysctl.d/a.conf"}}}, Want{}, Warn, "/etc/sysctl.d/a.conf sets"},
		{"few connections before kube-proxy", conntrack, &Facts{Sysctls: []Sysctl{{Name: "net.netfilter.nf_conntrack_max", Value: "65536"}}}, Want{}, Pass, "kube-proxy raises"},
		{"few connections in a cluster", conntrack, &Facts{Sysctls: []Sysctl{{Name: "net.netfilter.nf_conntrack_max", Value: "65536"}}}, Want{Ours: true}, Warn, "65536"},
		{"none tracked", conntrack, &Facts{}, Want{}, Pass, "none tracked"},

		{"Docker drops", nftForeign, &Facts{DropChains: []DropChain{{"ip", "filter", "FORWARD", "forward"}}}, Want{}, Warn, "chain FORWARD of table ip filter (forward) drops"},
		{"firewalld's own", nftForeign, &Facts{DropChains: []DropChain{{"inet", "firewalld", "filter_FORWARD", "forward"}}}, Want{}, Pass, "none"},
		{"the cluster's own", nftForeign, &Facts{DropChains: []DropChain{{"ip", "filter", "FORWARD", "forward"}}}, Want{Ours: true}, Skip, "own rules"},
		{"the old kind", iptablesBackend, &Facts{Iptables: Iptables{Backend: "legacy"}}, Want{}, Warn, "legacy"},
		{"both kinds", iptablesBackend, &Facts{Iptables: Iptables{Backend: "nf_tables", Legacy: []string{"nat"}}}, Want{}, Warn, "old kind: nat"},
		{"no iptables yet", iptablesBackend, &Facts{}, Want{}, Pass, "none yet"},
		{"NetworkManager", networkManager, &Facts{Units: []Unit{{"NetworkManager.service", "active", "enabled"}}}, Want{}, Pass, "install tells it"},

		{"the kubelet's proxy", proxyEnv, proxied(map[string]string{"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.1"}), cluster, Fail,
			"systemd's environment sets a proxy, also for 10.0.0.2, vip.bank.example"},
		{"the kubelet's proxy, but not for these", proxyEnv, proxied(map[string]string{"HTTPS_PROXY": "http://p:1", "no_proxy": "10.0.0.0/24, .bank.example"}), cluster, Pass, "not for the cluster's"},
		{"people's proxy", proxyEnv, proxied(nil, ProxySetting{"/etc/environment", "https_proxy", "http://p:1"}), cluster, Warn, "/etc/environment sets a proxy"},
		{"exceptions without a proxy", proxyEnv, proxied(nil, ProxySetting{"/etc/environment", "no_proxy", "x"}), cluster, Pass, "none"},
		{"no proxy at all", proxyEnv, &Facts{}, cluster, Pass, "none"},
	})
}

func TestGPUChecks(t *testing.T) {
	node := func(packages ...string) Want { return Want{Roles: []Role{GPU}, Packages: packages} }
	card := func(windows ...int64) *Facts {
		return &Facts{PCI: []host.PCIDevice{{Address: "0000:41:00.0", Class: "030200", Windows: windows}}}
	}
	switches := func(driver string, packages ...Package) *Facts {
		return &Facts{Driver: driver, PCI: []host.PCIDevice{{Class: "068000"}, {Class: "068000"}}, Packages: packages}
	}
	const loaded = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build"
	kernel := Kernel{Release: "5.14.0-1.el9.x86_64"}
	runChecks(t, []checkTest{
		{"no address for the memory", gpuBAR, card(16<<20, -1), node(), Fail, "no address for the memory of 0000:41:00.0"},
		{"the kernel gave up on it", gpuBAR, card(16<<20, 0), node(), Fail, "the memory of"},
		{"addresses", gpuBAR, card(16<<20, 64<<30), node(), Pass, "1 looked at"},
		{"the kernel does not tell", gpuBAR, card(), node(), Pass, "0 looked at"},
		{"nouveau", gpuNouveau, &Facts{Modules: map[string]Module{"nouveau": Loaded}}, node(), Fail, "nouveau is loaded"},
		{"nouveau, until install", gpuNouveau, &Facts{Modules: map[string]Module{"nouveau": Loaded}}, Want{Roles: []Role{GPU}, NouveauOff: true}, Warn, "nouveau is loaded"},
		{"nouveau could be loaded", gpuNouveau, &Facts{Modules: map[string]Module{"nouveau": Loadable}}, node(), Pass, "not loaded"},
		{"nouveau on another's screen", gpuNouveau, &Facts{Modules: map[string]Module{"nouveau": Loaded}}, Want{}, Skip, "no gpu role"},
		{"signed by nobody", secureBoot, &Facts{SecureBoot: SecureBoot{On: true}}, node("kmod-nvidia-open-dkms"), Fail, "no key"},
		{"perhaps signed by a vendor", secureBoot, &Facts{SecureBoot: SecureBoot{On: true}}, node(), Warn, "no key"},
		{"locked down without Secure Boot", secureBoot, &Facts{SecureBoot: SecureBoot{Lockdown: "integrity"}}, node(), Warn, "only signed modules; no key"},
		{"locked down by the command line", secureBoot, &Facts{SecureBoot: SecureBoot{Lockdown: "integrity"}, Kernel: Kernel{Cmdline: "lockdown=integrity ro"}}, node(), Warn,
			"off, and lockdown=integrity on the kernel's command line"},
		{"a lockdown that the kernel does not have", secureBoot, &Facts{Kernel: Kernel{Cmdline: "lockdown=integrity ro"}}, node("kmod-nvidia-open-dkms"), Pass, "off"},
		{"built to take only signed ones", secureBoot, &Facts{SecureBoot: SecureBoot{Enforced: true}}, node("kmod-nvidia-open-dkms"), Fail, "only signed modules"},
		{"signed and enrolled", secureBoot, &Facts{SecureBoot: SecureBoot{On: true, Key: true}}, node("kmod-nvidia-open-dkms"), Pass, "enrolled"},
		{"enforced without Secure Boot", secureBoot, &Facts{Kernel: Kernel{Cmdline: "ro module.sig_enforce=1 quiet"}}, node("kmod-nvidia-open-dkms"), Fail,
			"off, and module.sig_enforce=1 on the kernel's command line"},
		{"enforced, by the word alone", secureBoot, &Facts{Kernel: Kernel{Cmdline: "ro module.sig-enforce"}}, Want{Roles: []Role{GPU}, Installer: true}, Fail, "off, and module.sig-enforce on"},
		{"enforced, perhaps signed by a vendor", secureBoot, &Facts{Kernel: Kernel{Cmdline: "module.sig_enforce=y"}}, node(), Warn, "module.sig_enforce"},
		{"enforced, the driver is loaded", secureBoot, &Facts{Driver: loaded, Kernel: Kernel{Cmdline: "module.sig_enforce=1"}}, node("kmod-nvidia-open-dkms"), Pass,
			"module.sig_enforce=1 on the kernel's command line; the driver is loaded"},
		{"enforced without GPU", secureBoot, &Facts{Kernel: Kernel{Cmdline: "module.sig_enforce=1"}}, Want{}, Pass, "no module is built"},
		{"not enforced", secureBoot, &Facts{Kernel: Kernel{Cmdline: "ro module.sig_enforce=0 xmodule.sig_enforce=1"}}, node("kmod-nvidia-open-dkms"), Pass, "off"},
		{"Secure Boot without GPU", secureBoot, &Facts{SecureBoot: SecureBoot{On: true}}, Want{}, Pass, "no module"},
		{"nothing to build with", gpuKernelDevel, &Facts{Kernel: kernel}, node("kmod-nvidia-open-dkms"), Fail, "kernel-devel-5.14.0-1.el9.x86_64, gcc, make"},
		{"another kernel's", gpuKernelDevel, &Facts{Kernel: kernel, Packages: []Package{{Name: "kernel-devel", Version: "5.14.0", Release: "2.el9", Arch: "x86_64"}}},
			node("kmod-nvidia-open-dkms", "gcc", "make"), Fail, "missing: kernel-devel-5.14.0-1"},
		{"in the bundle", gpuKernelDevel, &Facts{Kernel: kernel}, node("kmod-nvidia-open-dkms", "gcc", "make", "kernel-devel"), Pass, "kernel-devel"},
		{"Oracle's", gpuKernelDevel, &Facts{Kernel: Kernel{Release: "5.15.0-1.el8uek.x86_64"}}, node("kmod-nvidia-open-dkms", "gcc", "make"), Fail, "kernel-uek-devel"},
		{"for another kernel in the bundle", gpuKernelDevel, &Facts{Kernel: kernel},
			Want{Roles: []Role{GPU}, Packages: []string{"kmod-nvidia-open-dkms", "gcc", "make", "kernel-devel"}, Headers: []string{"5.14.0-2.el9.x86_64"}}, Fail, "missing: kernel-devel-5.14.0-1"},
		{"for this one", gpuKernelDevel, &Facts{Kernel: kernel},
			Want{Roles: []Role{GPU}, Packages: []string{"kmod-nvidia-open-dkms", "gcc", "make", "kernel-devel"}, Headers: []string{"5.14.0-1.el9.x86_64"}}, Pass, "kernel-devel"},
		{"NVIDIA's installer builds, too", gpuKernelDevel, &Facts{Kernel: kernel}, Want{Roles: []Role{GPU}, Installer: true}, Fail, "missing: kernel-devel"},
		{"nothing is built", gpuKernelDevel, &Facts{Kernel: kernel}, node(), Skip, "no driver is built"},
		{"two installations", gpuForeign, &Facts{Runfile: true, Packages: []Package{{Name: "nvidia-driver-cuda-libs", Version: "580.82.07"}}}, node(), Fail, "both there"},
		{"two versions", gpuForeign, &Facts{Driver: loaded, Packages: []Package{{Name: "nvidia-driver-cuda-libs", Version: "570.124.06"}}}, node(), Fail,
			"the loaded module is 580.82.07, the libraries are 570.124.06"},
		{"the installer's, and RPMs to come", gpuForeign, &Facts{Runfile: true}, node("kmod-nvidia-open-dkms"), Fail, "bundle brings RPMs"},
		{"the installer's, again", gpuForeign, &Facts{Runfile: true}, Want{Roles: []Role{GPU}, Installer: true}, Pass, "none"},
		{"one version", gpuForeign, &Facts{Driver: loaded, Packages: []Package{{Name: "nvidia-driver-cuda-libs", Version: "580.82.07"}}}, node(), Pass, "580.82.07 by RPM"},
		{"of an image", gpuForeign, &Facts{Driver: loaded}, Want{Roles: []Role{GPU}}, Pass, "580.82.07 neither by RPM nor by NVIDIA's installer"},
		{"no Fabric Manager", gpuFabric, switches(loaded), node(), Fail, "2 NVSwitches, and no Fabric Manager"},
		{"another version's", gpuFabric, switches(loaded, Package{Name: "nvidia-fabricmanager", Version: "570.1"}), node(), Fail, "570.1 with driver 580.82.07"},
		{"another version's, amid an exchange", gpuFabric, switches(loaded, Package{Name: "nvidia-fabricmanager", Version: "580.95.05"}), node("nvidia-fabricmanager"), Warn,
			"580.95.05 with driver 580.82.07"},
		{"the driver's", gpuFabric, switches(loaded, Package{Name: "nvidia-fabricmanager", Version: "580.82.07"}), node(), Pass, "580.82.07"},
		{"in the bundle, before the driver", gpuFabric, switches(""), node("nvidia-fabricmanager"), Pass, "brings it"},
		{"not thought of yet", gpuFabric, switches(""), node(), Warn, "no Fabric Manager yet"},
		{"no switches", gpuFabric, card(1, 1), node(), Skip, "NVSwitches"},
	})
}
