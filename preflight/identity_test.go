package preflight

import (
	"reflect"
	"testing"

	"airgap.dev/airgap/cni"
)

func TestNamesAndAddresses(t *testing.T) {
	named := func(name string) *Facts { return &Facts{Host: name} }
	hosts := func(entries ...HostsEntry) *Facts { return &Facts{Host: "a", Hosts: entries} }
	resolv := func(resolved string, servers ...string) *Facts {
		f := &Facts{Resolv: Resolv{Nameservers: servers}}
		if resolved != "" {
			f.Resolv.Upstream, f.Units = []string{resolved}, []Unit{{"systemd-resolved.service", "active", "enabled"}}
		}
		return f
	}
	cloud := func(version string) *Facts {
		f := &Facts{Units: []Unit{{"nm-cloud-setup.timer", "active", "enabled"}}}
		if version != "" {
			f.Packages = []Package{{Name: "NetworkManager", Epoch: "1", Version: version, Release: "1.el8", Arch: "x86_64"}}
		}
		return f
	}
	firmware := func(uuid string) *Facts {
		return &Facts{Identity: Identity{MachineID: "2f8d5a50c7d24f3f9bd0a1b2c3d4e5f6", ProductUUID: uuid}}
	}
	ports := func(now, boot, reserved string) *Facts {
		return &Facts{Sysctls: []Sysctl{{Name: localRange, Value: now, Boot: boot, File: "/etc/sysctl.d/a.conf"}, {Name: reservedPorts, Value: reserved}}}
	}
	uses := Want{Ports: append(controlPlanePorts(), workerPorts()...), NodePorts: [][2]int{{30000, 32767}}, PortsFile: "/etc/sysctl.d/90-airgap-network.conf"}
	calico := Want{Network: cni.Needs{Localhost: true}}
	runChecks(t, []checkTest{
		{"the default name", hostname, named("localhost.localdomain"), Want{}, Fail, "localhost.localdomain"},
		{"an underscore", hostname, named("web_01"), Want{}, Fail, "web_01"},
		{"upper case", hostname, named("BANK-01.example"), Want{}, Warn, "BANK-01"},
		{"a name", hostname, named("bank-01.example"), Want{}, Pass, "bank-01"},
		{"no line for localhost", hostsFile, hosts(HostsEntry{"10.0.0.1", []string{"b"}}), Want{}, Warn, "no line for localhost"},
		{"no file, with Calico", hostsFile, hosts(), calico, Fail, "no line for localhost"},
		{"localhost elsewhere", hostsFile, hosts(HostsEntry{"127.0.0.1", []string{"localhost"}}, HostsEntry{"10.0.0.1", []string{"localhost"}}), Want{}, Fail, "localhost is 10.0.0.1"},
		{"localhost of IPv6 only", hostsFile, hosts(HostsEntry{"::1", []string{"localhost6", "localhost"}}), calico, Pass, "no wrong"},
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
			&Facts{Sysctls: []Sysctl{{Name: localRange, Value: "32768 60999"}, {Name: reservedPorts, Boot: "8080", File: "/etc/sysctl.d/99-site.conf"}}}, uses, Warn, "/etc/sysctl.d/99-site.conf sets"},
		{"an older survey", localPorts, &Facts{}, uses, Skip, "does not have"},
		{"no ipset, with Calico", kernelModules, &Facts{Modules: all(Loadable, map[string]Module{"xt_set": Missing})}, Want{Network: cni.Needs{IPSets: true}}, Fail, "xt_set"},
		{"no ipset, in the nftables mode", kernelModules, &Facts{Modules: all(Loadable, map[string]Module{"xt_set": Missing})},
			Want{ProxyMode: "nftables", Network: cni.Needs{IPSets: true}}, Pass, "available"},
		{"odd packages", rpmConflict, &Facts{OddPackages: []string{"agent"}}, Want{Packages: []string{"kubelet"}}, Warn, "agent"},
	})
}

// TestRoutesWithoutKey: ip of Enterprise Linux 8 prints the type of a route without a key, which is
// no JSON (iproute2#37).
func TestRoutesWithoutKey(t *testing.T) {
	routes, err := parseRoutes(`[{"unreachable","dst":"::/96","dev":"lo","metric":1024,"flags":[]},
{ "blackhole", "dst":"10.244.1.0/26","protocol":"80","flags":[]},
{"dst":"fe80::/64","dev":"ens192","flags":[]},{},{"type":"unreachable","dst":"2002:a00::/24"}]`, true)
	var to []string
	for _, r := range routes {
		to = append(to, r.To.String())
	}
	if err != nil || !reflect.DeepEqual(to, []string{"::/96", "10.244.1.0/26", "fe80::/64", "2002:a00::/24"}) {
		t.Errorf("%v, %v", to, err)
	}
}
