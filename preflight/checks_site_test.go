package preflight

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

func TestChecksOfNetwork(t *testing.T) {
	installs := Want{SysctlFile: "/etc/sysctl.d/90-ours.conf", KubeletSysctls: kubeletSysctls()}
	runChecks(t, []checkTest{
		{"no address", nodeIP, &facts.Facts{Links: []facts.Link{{Name: "lo", Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}}}}, Want{}, Fail, "no address"},
		{"a default route for IPv6 alone", defaultRoute, &facts.Facts{Routes: []facts.Route{{To: netip.MustParsePrefix("::/0"), Gateway: "fe80::1", Device: "eth0"}}}, Want{}, Fail, "none for IPv4"},
		{"default routes for both", defaultRoute,
			&facts.Facts{Routes: []facts.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Gateway: "10.0.0.1", Device: "eth0"}, {To: netip.MustParsePrefix("::/0"), Gateway: "fe80::1", Device: "eth0"}}},
			Want{}, Pass, "10.0.0.1 eth0"},
		{"subnets overlap each other", cidrOverlap, &facts.Facts{}, Want{PodSubnet: "10.96.0.0/11", ServiceSubnet: "10.96.0.0/12"}, Fail, "pod subnet"},
		{"a name server in the subnet", cidrOverlap, &facts.Facts{Resolv: facts.Resolv{Nameservers: []string{"10.244.1.1"}}}, Want{PodSubnet: "10.244.0.0/16"}, Fail, "name server"},
		{"another node in the subnet", cidrOverlap, &facts.Facts{}, Want{PodSubnet: "10.244.0.0/16", OtherAddresses: []string{"lb.bank.example", "10.244.0.9"}}, Fail, "10.244.0.9"},
		{"a time server in the subnet", cidrOverlap, &facts.Facts{Time: facts.Time{Servers: []string{"ntp.bank.example", "10.244.0.123"}}}, Want{PodSubnet: "10.244.0.0/16"}, Fail,
			"overlaps the time server 10.244.0.123/32"},
		{"the site registry in the subnet", cidrOverlap, &facts.Facts{}, Want{PodSubnet: "10.244.0.0/16", SiteRegistry: "10.244.0.9:8443/airgap"}, Fail, "overlaps the site registry 10.244.0.9/32"},
		{"the site registry elsewhere", cidrOverlap, &facts.Facts{}, Want{PodSubnet: "10.244.0.0/16", SiteRegistry: "10.0.0.9/airgap"}, Pass, ""},
		{"airgap's pod network", cidrOverlap, &facts.Facts{Links: []facts.Link{{Name: "cni0", Addresses: []netip.Prefix{netip.MustParsePrefix("10.244.0.1/24")}}}},
			Want{PodSubnet: "10.244.0.0/16", Managed: true}, Pass, ""},
		{"airgap's routes without a tunnel", cidrOverlap, &facts.Facts{Routes: []facts.Route{{To: netip.MustParsePrefix("10.244.1.0/24"), Gateway: "10.0.0.12", Device: "eth0"}}},
			Want{PodSubnet: "10.244.0.0/16", Managed: true, OtherAddresses: []string{"10.0.0.12"}}, Pass, ""},
		{"a route of the site", cidrOverlap, &facts.Facts{Routes: []facts.Route{{To: netip.MustParsePrefix("10.244.1.0/24"), Gateway: "10.0.0.1", Device: "eth0"}}},
			Want{PodSubnet: "10.244.0.0/16", Managed: true, OtherAddresses: []string{"10.0.0.12"}}, Fail, "the route through eth0"},
		{"no prefix", cidrOverlap, &facts.Facts{}, Want{PodSubnet: "10.244.0.0"}, Error, "pod subnet"},
		{"dual stack", cidrOverlap, &facts.Facts{Links: []facts.Link{{Name: "e", Addresses: []netip.Prefix{netip.MustParsePrefix("fd00:1::1/64")}}}}, Want{PodSubnet: "10.244.0.0/16, fd00:1::/48"}, Fail,
			"fd00:1::/48"},
		{"a parameter of the kubelet, before airgap's file", kernelDefaults, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "kernel.panic", Value: "60", Boot: "60", File: "/etc/sysctl.d/10-site.conf"}}},
			installs, Pass, "no file"},
		{"a parameter of the kubelet, after airgap's file", kernelDefaults, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "vm.overcommit_memory", Value: "2", Boot: "2", File: "/etc/sysctl.d/99-db.conf"}}},
			installs, Fail,
			"/etc/sysctl.d/99-db.conf sets vm.overcommit_memory = 2"},
		{
			"a parameter that the kubelet does not require", kernelDefaults,
			&facts.Facts{Sysctls: []facts.Sysctl{{Name: "kernel.panic", Value: "60", Boot: "60", File: "/etc/sysctl.conf"}}}, Want{SysctlFile: "/etc/sysctl.d/90-ours.conf"}, Pass, "no file",
		},
		{"another value is required", kernelDefaults, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "kernel.panic", Value: "10", Boot: "10", File: "/etc/sysctl.conf"}}},
			Want{SysctlFile: "/etc/sysctl.d/90-ours.conf", KubeletSysctls: map[string]string{"kernel.panic": "20"}}, Fail, "kernel.panic = 10"},
		{
			"airgap's file sorts last", ipForward,
			&facts.Facts{Sysctls: []facts.Sysctl{{Name: "net.ipv4.ip_forward", Value: "0", Boot: "0", File: "/etc/sysctl.d/99-a.conf"}}}, Want{SysctlFile: "/etc/sysctl.d/99-ours.conf"}, Pass, "install sets",
		},
		{"forwarding off before airgap's file", ipForward, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "net.ipv4.ip_forward", Value: "0", Boot: "0", File: "/etc/sysctl.d/10-site.conf"}}},
			installs, Pass, "install sets"},
		{"forwarding off after airgap's file", ipForward, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "net.ipv4.ip_forward", Value: "1", Boot: "0", File: "/etc/sysctl.conf"}}}, installs, Fail,
			"/etc/sysctl.conf"},
		{"no name server", resolvConf, &facts.Facts{}, Want{}, Fail, "none"},
		{"no name server, declared", resolvConf, &facts.Facts{}, Want{NoDNS: true}, Pass, "none"},
		{"a TCP listener does not use the UDP port", portsFree, &facts.Facts{Listening: []facts.Listener{{Protocol: "tcp", Port: 8472, Process: "x"}}}, Want{Ports: workerPorts()}, Pass, "8472/udp"},
		{"airgap's registry from an interrupted run", portsFree, &facts.Facts{Listening: []facts.Listener{{Protocol: "tcp", Port: 5000, Process: "airgap"}}}, Want{Ports: controlPlanePorts()}, Pass,
			"5000/tcp"},
		{"no script", bootCommands, &facts.Facts{}, Want{}, Pass, "none"},
		{"a script, another value", bootCommands, script("sysctl -w net.ipv4.ip_forward=0"), installs, Warn, "/etc/rc.d/rc.local line 3 sets net.ipv4.ip_forward = 0"},
		{"a script, the same value", bootCommands, script("sysctl -w net.ipv4.ip_forward=1"), installs, Pass, "none"},
		{"a script, all interfaces", bootCommands, script("sysctl -w net.ipv4.conf.default.forwarding=0"), Want{}, Warn, "net.ipv4.conf.default.forwarding"},
		{"a script, strict mode with flannel", bootCommands, script("sysctl -w net.ipv4.conf.all.rp_filter=1"), Want{Network: network("flannel")}, Pass, "none"},
		{"a script, strict mode with cilium", bootCommands, script("sysctl -w net.ipv4.conf.all.rp_filter=1"), Want{Network: network("cilium")}, Warn, "rp_filter"},
		{"a script with rules", bootCommands, script("iptables -P FORWARD DROP"), Want{}, Warn, "changes the packet filter: iptables -P FORWARD DROP"},
		{"another program for rules", nftForeign, &facts.Facts{Units: []facts.Unit{{Name: "shorewall.service", State: "active", Enabled: "enabled"}}}, Want{}, Warn, "shorewall.service is active"},
		{
			"few network namespaces at boot", userNamespaces,
			&facts.Facts{Sysctls: []facts.Sysctl{{Name: "user.max_net_namespaces", Value: "62000", Boot: "0", File: "/etc/sysctl.d/60-a.conf", Line: 2}}}, Want{}, Fail,
			"/etc/sysctl.d/60-a.conf:2 sets user.max_net_namespaces = 0",
		},
		{"few PID namespaces now", userNamespaces, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "user.max_pid_namespaces", Value: "10"}}}, Want{}, Fail, "user.max_pid_namespaces = 10 now"},
		{"enough", userNamespaces, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "user.max_net_namespaces", Value: "9000"}, {Name: "user.max_user_namespaces", Value: "9000"}}}, Want{}, Pass, "9000"},
		{"a program at the port of the hostPort test", portsFree, &facts.Facts{Listening: []facts.Listener{{Protocol: "tcp", Port: 10479, Process: "backupd"}}},
			Want{Managed: true, Ports: hostPorts()}, Fail, "10479/tcp (hostPort test) is used by backupd"},
		{"CRI-O holds the port open", portsFree, &facts.Facts{Listening: []facts.Listener{{Protocol: "tcp", Port: 10479, Process: "crio"}}}, Want{Ports: hostPorts()}, Pass, "10479/tcp"},
		{"the cluster's own ports", portsFree, &facts.Facts{Listening: []facts.Listener{{Protocol: "tcp", Port: 10250, Process: "kubelet"}}}, Want{Managed: true, Ports: workerPorts()}, Skip, "uses them"},
	})
}

func TestChecksOfExistingSoftware(t *testing.T) {
	runChecks(t, []checkTest{
		{"k3s", oldCluster, &facts.Facts{Units: []facts.Unit{{Name: "k3s.service", State: "active", Enabled: "enabled"}}}, Want{}, Fail, "k3s.service is active"},
		{"a link left over", oldCluster, &facts.Facts{Leftovers: []facts.Leftover{{Path: "link cni0", Blocks: false}}}, Want{}, Warn, "cni0"},
		{"airgap's cluster", oldCluster, &facts.Facts{Leftovers: []facts.Leftover{{Path: "/etc/kubernetes/admin.conf", Blocks: true}}}, Want{Managed: true}, Skip, ""},
		{"a cluster behind the load balancer", endpointFree, &facts.Facts{Asked: facts.Asked{EndpointInUse: true}}, Want{NewEndpoint: "10.0.0.5:6443"}, Fail, "answers at 10.0.0.5:6443"},
		{"no cluster behind the load balancer", endpointFree, &facts.Facts{}, Want{NewEndpoint: "10.0.0.5:6443"}, Pass, "10.0.0.5:6443"},
		{"the site registry has all images", siteRegistry, &facts.Facts{Asked: facts.Asked{MissingImagesOutcome: facts.OutcomeOf(nil)}}, Want{SiteRegistry: "r/p"}, Pass, "r/p has all"},
		{
			"an image is missing in the site registry", siteRegistry,
			&facts.Facts{Asked: facts.Asked{MissingImages: []string{"a:1"}, MissingImagesOutcome: facts.OutcomeOf(nil)}}, Want{SiteRegistry: "r/p"}, Fail, "missing in r/p: a:1",
		},
		{"the site registry is unreachable", siteRegistry, &facts.Facts{Asked: facts.Asked{MissingImagesOutcome: facts.OutcomeOf(errors.New("no route"))}}, Want{SiteRegistry: "r/p"}, Fail, "no route"},
		{"the site registry was not queried", siteRegistry, &facts.Facts{}, Want{SiteRegistry: "r/p"}, Error, "r/p was not queried"},
		{"CRI-O", runtimePresent, &facts.Facts{Runtimes: facts.Runtimes{Sockets: []string{"/run/crio/crio.sock"}}}, Want{}, Fail, "CRI-O"},
		{"airgap's containerd, and CRI-O in airgap.yaml", runtimePresent, &facts.Facts{Units: []facts.Unit{{Name: "containerd.service", State: "active", Enabled: "enabled"}}},
			Want{Managed: true, CRIO: true}, Fail,
			"airgap has installed containerd on this host"},
		{"Docker's stopped containerd", runtimePresent, &facts.Facts{Units: []facts.Unit{{Name: "containerd.service", State: "inactive", Enabled: "disabled"},
			{Name: "docker.service", State: "inactive", Enabled: "disabled"}}},
			Want{RuntimePackage: "containerd.io"}, Fail, "which Docker uses"},
		{"airgap's runtime, from the other source", runtimePresent,
			&facts.Facts{Units: []facts.Unit{{Name: "containerd.service", State: "active", Enabled: "enabled"}}, Runtimes: facts.Runtimes{Binaries: []string{"/opt/airgap/bin/containerd"}}},
			Want{Managed: true, RuntimePackage: "containerd.io"}, Fail, "containerd from its archive"},
		{"airgap's runtime from a package, and the archive in airgap.yaml", runtimePresent,
			&facts.Facts{Units: []facts.Unit{{Name: "containerd.service", State: "active", Enabled: "enabled"}}, Runtimes: facts.Runtimes{Binaries: []string{"/usr/bin/containerd"}}}, Want{Managed: true}, Fail,
			"containerd from its package"},
		{"airgap's runtime, from the right package", runtimePresent,
			&facts.Facts{Units: []facts.Unit{{Name: "crio.service", State: "active", Enabled: "enabled"}}, Runtimes: facts.Runtimes{Binaries: []string{"/usr/bin/crio"}}},
			Want{Managed: true, CRIO: true, RuntimePackage: "cri-o"}, Skip, "airgap has installed"},
		{"containerd.io and crun", rpmConflict, &facts.Facts{Packages: []facts.Package{{Name: "crun"}, {Name: "podman"}}}, Want{Packages: []string{"containerd.io"}, RuntimePackage: "containerd.io"},
			Pass, ""},
		{
			"containerd.io and runc", rpmConflict,
			&facts.Facts{Packages: []facts.Package{{Name: "runc"}}}, Want{Packages: []string{"containerd.io"}, RuntimePackage: "containerd.io"}, Fail, "conflicts with installed runc",
		},
		{"airgap's runtime, as in airgap.yaml", runtimePresent, &facts.Facts{Units: []facts.Unit{{Name: "crio.service", State: "active", Enabled: "enabled"}},
			Runtimes: facts.Runtimes{Binaries: []string{"/opt/airgap/bin/crio"}}},
			Want{Managed: true, CRIO: true}, Skip, "airgap has installed"},
		{"not installed yet", runtimePresent, &facts.Facts{}, Want{Managed: true}, Skip, "airgap has installed"},
		{"stopped containerd", runtimePresent, &facts.Facts{Units: []facts.Unit{{Name: "containerd.service", State: "inactive", Enabled: "disabled"}}}, Want{}, Fail, "from an unknown source"},
		{"Docker without containerd's socket", runtimePresent, &facts.Facts{Runtimes: facts.Runtimes{Sockets: []string{"/run/docker.sock"}}}, Want{}, Warn, "Docker"},
		{"declared conflict", rpmConflict, &facts.Facts{Packages: []facts.Package{{Name: "old", Conflicts: []facts.Capability{{Name: "kubelet"}}}}}, Want{Packages: []string{"kubelet"}}, Fail,
			"old conflicts with kubelet"},
		{
			"conflict with a version, which the solver checks", rpmConflict,
			&facts.Facts{Packages: []facts.Package{{Name: "old", Conflicts: []facts.Capability{{Name: "kubelet", Op: "<", Version: "1"}}}}}, Want{Packages: []string{"kubelet"}}, Pass, "",
		},
	})
}

func TestChecksOfGPUs(t *testing.T) {
	runChecks(t, []checkTest{
		{"gpu role, no GPU", gpuPresent, gpus("", ""), Want{Roles: []Role{GPU}}, Fail, "none"},
		{"GPU, no role", gpuPresent, gpus("1 × T4", ""), Want{}, Pass, "1 × T4; unused"},
		{"no GPU, no role", gpuPresent, gpus("", ""), Want{}, Skip, "no GPU"},
		{"one of two GPUs", gpuPresent, gpus("1 × A40", "1 × A40 (virtual function)"), Want{Roles: []Role{GPU}}, Pass, "1 × A40, 1 × A40 (virtual function)"},
		{"no gpu role, a driver", gpuDriver, driver(facts.GPUs{Driver: "595.45", Required: "580"}), Want{}, Skip, "no role gpu"},
		{"no driver yet", gpuDriver, gpus("1 × T4", ""), Want{Roles: []Role{GPU}}, Skip, "no driver is loaded"},
		{"GPUs that were not identified", gpuDriver, &facts.Facts{Driver: "x"}, Want{Roles: []Role{GPU}}, Skip, "not identified"},
		{"a driver for the GPU", gpuDriver, driver(facts.GPUs{Driver: "driver 580.82"}), Want{Roles: []Role{GPU}}, Pass, "driver 580.82"},
		{"a driver that dropped the GPU", gpuDriver, driver(facts.GPUs{Driver: "driver 595.45 with a V100", Required: "580 and earlier"}), Want{Roles: []Role{GPU}}, Fail, "driver 595.45 with a V100"},
		{"a driver that is not NVIDIA's", gpuDriver, driver(facts.GPUs{Unknown: "what is x"}), Want{Roles: []Role{GPU}}, Warn, "what is x"},
		{"every GPU passed through", gpuPresent, gpus("", "2 × A40 (vfio-pci)"), Want{Roles: []Role{GPU}}, Fail, "2 × A40 (vfio-pci)"},
	})
}

func TestChecksOfClock(t *testing.T) {
	at := func(seconds int64) *facts.Facts { return &facts.Facts{Time: facts.Time{Now: time.Unix(seconds, 0)}} }
	runChecks(t, []checkTest{
		{"clock went back", clockSane, at(100_000), Want{BundleCreated: time.Unix(100, 0), LastRun: time.Unix(200_000, 0)}, Fail, "1 d 3 h before airgap's last run"},
		{"clock went back a little", clockSane, at(199_900), Want{BundleCreated: time.Unix(100, 0), LastRun: time.Unix(200_000, 0)}, Pass, "1970"},
		{"clock went back, with a site's limit", clockSane, at(199_900), Want{LastRun: time.Unix(200_000, 0), Site: Config{Settings{"clock-sane": {"back": "1m"}}}}, Fail, "1 min 40 s"},
		{"joins no cluster", clockPeer, at(100), Want{}, Skip, ""},
		{"clocks agree", clockPeer, at(100), Want{Peer: Peer{"hub", time.Second}}, Pass, "the same as on hub"},
		{"clock a little ahead", clockPeer, at(100), Want{Peer: Peer{"hub", -30 * time.Second}}, Warn, "30 s ahead of hub: 1970-01-01T00:01:40Z here, 1970-01-01T00:01:10Z there"},
		{"clock hours behind", clockPeer, at(100), Want{Peer: Peer{"hub", 3*time.Hour + 5*time.Minute}}, Fail, "3 h 5 min behind hub"},
		{"clock almost ten minutes behind", clockPeer, at(100), Want{Peer: Peer{"hub", 10*time.Minute - 300*time.Millisecond}}, Fail, "10 min 0 s behind hub"},
		{"clock behind, with a site's limit", clockPeer, at(100), Want{Peer: Peer{"hub", time.Hour}, Site: Config{Settings{"clock-registry": {"fail": "2h"}}}}, Warn, "1 h 0 min behind"},
		{"clock behind", clockSane, &facts.Facts{Time: facts.Time{Now: time.Unix(100, 0)}}, Want{BundleCreated: time.Unix(200, 0)}, Fail, "1970"},
	})
}

func TestChecksOfDisks(t *testing.T) {
	oneDisk := func(size, used int64) *facts.Facts {
		return &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/", Mount: "/", Device: "8:1", Size: size, Used: used, Free: size - used}}}
	}
	quota := func(size, used, free int64) *facts.Facts {
		return &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/", Mount: "/", Device: "8:1", Size: size, Used: used, Free: free}}}
	}
	runChecks(t, []checkTest{
		{"space for all on one disk", diskSpace, oneDisk(100*gigabyte, 10*gigabyte), Want{Roles: []Role{ControlPlane}}, Pass, "90.0 GB free on /"},
		{"enough for each, but not for all", diskSpace, oneDisk(40*gigabyte, 10*gigabyte), Want{Roles: []Role{ControlPlane}}, Fail, "38.0 GB needed"},
		{"no space for the audit log", diskSpace, &facts.Facts{Filesystems: append(oneDisk(100*gigabyte, 10*gigabyte).Filesystems,
			facts.Filesystem{Path: facts.LogPath, Mount: facts.LogPath, Device: "8:9", Size: 2 * gigabyte, Used: gigabyte, Free: gigabyte})},
			Want{Roles: []Role{ControlPlane}, AuditBytes: 1100 << 20}, Fail, "1.0 GB free on /var/log (audit log, container logs), 2.2 GB needed"},
		{"tight", diskSpace, oneDisk(50*gigabyte, 10*gigabyte), Want{Roles: []Role{ControlPlane}}, Warn, "70.0 GB recommended"},
		{"big but full", diskSpace, oneDisk(1000*gigabyte, 850*gigabyte), Want{}, Fail, "85 % used"},
		{"space behind a quota", diskSpace, quota(1000*gigabyte, 300*gigabyte, 100*gigabyte), Want{}, Fail, "90 % used"},
		{"installed already", diskSpace, oneDisk(40*gigabyte, 30*gigabyte), Want{Managed: true}, Pass, "10.0 GB free"},
		{"partly copied store", diskSpace, oneDisk(40*gigabyte, 30*gigabyte), Want{Managed: true, StoreBytes: 10 * gigabyte}, Fail, "11.0 GB needed"},
		{"a new bundle, and an etcd backup before it", diskSpace, oneDisk(40*gigabyte, 30*gigabyte), Want{Managed: true, StoreBytes: 8 * gigabyte, BackupBytes: 3 * gigabyte}, Fail,
			"10.0 GB free on / (kubelet, images, bundle, etcd backup), 11.8 GB needed"},
		{"a small disk for the etcd backup", diskSpace, &facts.Facts{Filesystems: append(oneDisk(100*gigabyte, 10*gigabyte).Filesystems,
			facts.Filesystem{Path: facts.BackupPath, Mount: "/var/lib/airgap", Device: "8:9", Size: 2 * gigabyte, Used: 0, Free: 2 * gigabyte})},
			Want{Managed: true, BackupBytes: 3 * gigabyte}, Fail, "2.0 GB free on /var/lib/airgap (etcd backup), 3.0 GB needed"},
		{"the site's own limits", diskSpace, oneDisk(10*gigabyte, 9*gigabyte),
			Want{Roles: []Role{ControlPlane}, Site: site("disk-space", "kubeletFail", "100MB", "kubeletWarn", "100MB", "imagesFail", "0.3GB", "etcdFail", "500MB", "etcdWarn", "0", "usedFail", "95%")},
			Pass, "1.0 GB free"},

		{"the site's own limits, not met", diskSpace, oneDisk(10*gigabyte, 9*gigabyte), Want{Site: site("disk-space", "kubeletFail", "1GiB", "imagesFail", "0", "usedFail", "100%")}, Fail, "1.1 GB needed"},
		{"the site's limit for a store", diskSpace, oneDisk(10*gigabyte, 1*gigabyte), Want{Managed: true, StoreBytes: gigabyte, Site: site("disk-space", "storeFail", "10GB")}, Fail, "10.0 GB needed"},
		{"the site's limit for a store that is full", diskSpace, oneDisk(10*gigabyte, 1*gigabyte), Want{Managed: true, Site: site("disk-space", "storeFail", "10GB")}, Pass, "9.0 GB free"},
		{"a worker with one CPU, and the site requires two", cpuCount, &facts.Facts{CPUs: 1}, Want{Site: site("cpu-count", "fail", "2")}, Fail, "1"},
		{"memory of a small site", memory, &facts.Facts{Memory: 1_000_000_000}, Want{Roles: []Role{ControlPlane}, Site: site("memory", "fail", "900MB", "warn", "1GB")}, Pass, "1.0 GB"},
	})
}

func hostPorts() []facts.Port {
	return []facts.Port{{Number: 10479, Protocol: "tcp", For: "hostPort test", Redirected: true}}
}

// script is a host with a line of rc.local.
func script(line string) *facts.Facts {
	return &facts.Facts{Boot: facts.Boot{Commands: []nextboot.Command{{Text: line, Place: nextboot.Place{File: "/etc/rc.d/rc.local", Line: 3}}}}}
}
