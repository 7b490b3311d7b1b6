package preflight

import (
	"testing"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

func TestNamesAndAddresses(t *testing.T) {
	named := func(name string) *facts.Facts { return &facts.Facts{Host: name} }
	hosts := func(entries ...facts.HostsEntry) *facts.Facts { return &facts.Facts{Host: "a", Hosts: entries} }
	resolv := func(resolved string, servers ...string) *facts.Facts {
		f := &facts.Facts{Resolv: facts.Resolv{Nameservers: servers}}
		if resolved != "" {
			f.Resolv.Upstream, f.Units = []string{resolved}, []facts.Unit{{Name: "systemd-resolved.service", State: "active", Enabled: "enabled"}}
		}
		return f
	}
	cloud := func(version string) *facts.Facts {
		f := &facts.Facts{Units: []facts.Unit{{Name: "nm-cloud-setup.timer", State: "active", Enabled: "enabled"}}}
		if version != "" {
			f.Packages = []facts.Package{{Name: "NetworkManager", Epoch: "1", Version: version, Release: "1.el8", Arch: "x86_64"}}
		}
		return f
	}
	firmware := func(uuid string) *facts.Facts {
		return &facts.Facts{Identity: facts.Identity{MachineID: "2f8d5a50c7d24f3f9bd0a1b2c3d4e5f6", ProductUUID: uuid}}
	}
	ports := func(now, boot, reserved string) *facts.Facts {
		return &facts.Facts{Sysctls: []facts.Sysctl{{Name: facts.LocalRange, Value: now, Boot: boot, File: "/etc/sysctl.d/a.conf"}, {Name: facts.ReservedPorts, Value: reserved}}}
	}
	uses := Want{Ports: append(controlPlanePorts(), workerPorts()...), NodePorts: [][2]int{{30000, 32767}}, PortsFile: "/etc/sysctl.d/90-airgap-network.conf"}
	calico := Want{Network: cni.Needs{Localhost: true}}
	without6 := hosts(facts.HostsEntry{Address: "::1", Names: []string{"localhost"}})
	without6.Kernel.Cmdline = "quiet ipv6.disable=1"
	later := func(now, file, cmdline string) *facts.Facts {
		f := named(now)
		f.Boot.Hostname, f.Kernel.Cmdline = nextboot.Hostname{Name: file, Place: nextboot.Place{File: "/etc/hostname", Line: 1}}, cmdline
		return f
	}
	runChecks(t, []checkTest{
		{"the name of a template later", hostname, later("bank-01", "template", ""), Want{}, Fail,
			"bank-01 now, template after the next boot (/etc/hostname line 1): the kubelet then registers as another node"},
		{"the name of a template later, and the node's name is the host name", hostname, later("BANK-01", "template", ""), Want{NodeName: "bank-01"}, Fail, "template after the next boot"},
		{"kubeadm fixes another name", hostname, later("bank-01", "template", ""), Want{NodeName: "node-7"}, Pass, "bank-01"},
		{"the same name later", hostname, later("bank-01", "bank-01", ""), Want{}, Pass, "bank-01"},
		{"no name later", hostname, later("bank-01", "", ""), Want{}, Pass, "bank-01"},
		{"a name of the command line", hostname, later("bank-01", "template", "quiet systemd.hostname=bank-01"), Want{}, Pass, "bank-01"},
		{"another name of the command line", hostname, later("bank-01", "bank-01", "systemd.hostname=x"), Want{}, Fail, "x after the next boot (systemd.hostname=x in the kernel command line)"},
		{"a parameter that EL 8 ignores", hostname, oldSystemd(later("bank-01", "bank-01", "systemd.hostname=x")), Want{}, Pass, "bank-01"},
		{"the default name", hostname, named("localhost.localdomain"), Want{}, Fail, "localhost.localdomain"},
		{"an underscore", hostname, named("web_01"), Want{}, Fail, "web_01"},
		{"upper case", hostname, named("BANK-01.example"), Want{}, Warn, "BANK-01"},
		{"a name", hostname, named("bank-01.example"), Want{}, Pass, "bank-01"},
		{"no line for localhost", hostsFile, hosts(facts.HostsEntry{Address: "10.0.0.1", Names: []string{"b"}}), Want{}, Warn, "no line for localhost"},
		{"no file, with Calico", hostsFile, hosts(), calico, Fail, "no line for localhost"},
		{"localhost elsewhere", hostsFile, hosts(facts.HostsEntry{Address: "127.0.0.1", Names: []string{"localhost"}}, facts.HostsEntry{Address: "10.0.0.1", Names: []string{"localhost"}}), Want{}, Fail,
			"localhost is 10.0.0.1"},
		{"localhost of IPv6 only, without IPv6", hostsFile, without6, Want{}, Fail, "localhost is only ::1, and IPv6 is off: ipv6.disable=1 in /proc/cmdline"},
		{"localhost of IPv6 only", hostsFile, hosts(facts.HostsEntry{Address: "::1", Names: []string{"localhost6", "localhost"}}), calico, Pass, "no wrong"},
		{"dnsmasq", resolvConf, resolv("", "127.0.0.1"), Want{}, Fail, "127.0.0.1 in /etc/resolv.conf"},
		{"dnsmasq of IPv6", resolvConf, resolv("", "10.0.0.1", "::1"), Want{}, Fail, "::1"},
		{"systemd-resolved", resolvConf, resolv("10.0.0.53", "127.0.0.53"), Want{}, Pass, "10.0.0.53"},
		{"systemd-resolved before dnsmasq", resolvConf, resolv("127.0.0.1", "127.0.0.53"), Want{}, Fail, "127.0.0.53"},
		{"a file for the kubelet", resolvConf, resolv("", "127.0.0.1"), Want{ResolvConf: "/etc/real.conf"}, Pass, "/etc/real.conf"},
		{"CoreDNS does not forward", resolvConf, resolv("", "127.0.0.1"), Want{NoDNS: true}, Pass, "does not forward"},
		{"nm-cloud-setup of 8.4", nmCloudSetup, cloud("1.30.0"), Want{}, Fail, "nm-cloud-setup.timer is on"},
		{"nm-cloud-setup of 8.10", nmCloudSetup, cloud("1.40.16"), Want{}, Pass, "1.40.16 keeps"},
		{"nm-cloud-setup of an unknown version", nmCloudSetup, cloud(""), Want{}, Fail, "is on"},
		{"a UUID of the vendor", machineIDs, firmware("03000200-0400-0500-0006-000700080009"), Want{}, Warn, "03000200"},
		{"a UUID", machineIDs, firmware("4C4C4544-0032-3510-8052-B4C04F4A4D32"), Want{}, Pass, "2f8d"},

		{"the kernel's range", localPorts, ports("32768\t60999", "", ""), uses, Pass, "32768 to 60999"},
		{"a wide range", localPorts, ports("1024 65535", "", ""), uses, Warn, "2379-2380,5000,6443,8472,10250,10256,30000-32767"},
		{"a wide range at the next boot", localPorts, ports("32768 60999", "9000 65500", ""), uses, Warn, "from /etc/sysctl.d/a.conf) has the cluster's ports 10250,10256,30000-32767"},
		{"a wide range, and reserved ports", localPorts, ports("9000 65500", "", "10000-10300, 30000-32767"), uses, Pass, "9000 to"},
		{"a later file with other ports", localPorts,
			&facts.Facts{Sysctls: []facts.Sysctl{{Name: facts.LocalRange, Value: "32768 60999"},
				{Name: facts.ReservedPorts, Boot: "8080", File: "/etc/sysctl.d/99-site.conf"}}}, uses, Warn, "/etc/sysctl.d/99-site.conf sets"},
		{"an older survey", localPorts, &facts.Facts{}, uses, Skip, "does not have"},
		{"no ipset, with Calico", kernelModules, &facts.Facts{Modules: all(facts.Loadable, map[string]facts.Module{"xt_set": facts.Missing})}, Want{Network: cni.Needs{IPSets: true}}, Fail, "xt_set"},
		{"no ipset, in the nftables mode", kernelModules, &facts.Facts{Modules: all(facts.Loadable, map[string]facts.Module{"xt_set": facts.Missing})},
			Want{ProxyMode: "nftables", Network: cni.Needs{IPSets: true}}, Pass, "available"},
		{"odd packages", rpmConflict, &facts.Facts{OddPackages: []string{"agent"}}, Want{Packages: []string{"kubelet"}}, Warn, "agent"},
	})
}
