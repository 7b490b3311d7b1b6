package preflight

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/facts"
)

// all returns all modules with the state, except for the changes.
func all(state facts.Module, changes map[string]facts.Module) map[string]facts.Module {
	modules := map[string]facts.Module{}
	for name := range facts.ModuleOptions() {
		modules[name] = state
	}
	maps.Copy(modules, changes)
	return modules
}

// kubeletSysctls are two of the kubelet's parameters.
func kubeletSysctls() map[string]string {
	return map[string]string{"kernel.panic": "10", "vm.overcommit_memory": "1"}
}

// TestEveryCheckExplainsItself: the readers have no internet access to look it up.
func TestEveryCheckExplainsItself(t *testing.T) {
	ids := map[string]bool{}
	for _, c := range Checks() {
		if ids[c.ID] {
			t.Errorf("%s is a duplicate", c.ID)
		}
		ids[c.ID] = true
		if c.Title == "" || c.Source == "" || len(c.Breaks) < 20 || !strings.HasSuffix(c.Breaks, ".") {
			t.Errorf("%s: title %q, breaks %q, source %q", c.ID, c.Title, c.Breaks, c.Source)
		}
		for _, l := range c.Limits {
			if l.Check != c.ID || l.About == "" {
				t.Errorf("%s: limit %+v", c.ID, l)
			}
		}
	}
}

// TestChoice: the report has exactly the chosen checks, in its own order.
func TestChoice(t *testing.T) {
	report, err := Run(t.Context(), &facts.Facts{}, Want{}, Choice{Only: []string{"swap", "cpu-count", "memory"}, Skip: []string{"swap"}})
	var ids []string
	for _, r := range report.Results {
		ids = append(ids, r.ID)
	}
	if err != nil || !slices.Equal(ids, []string{"cpu-count", "memory", "swap"}) || report.Results[2].Status != Skip {
		t.Errorf("got %v, %+v, %v", ids, report.Results, err)
	}
	for _, wrong := range []Choice{{Only: []string{"swpa"}}, {Skip: []string{"swpa"}}} {
		if _, err := Run(t.Context(), &facts.Facts{}, Want{}, wrong); err == nil || !strings.Contains(err.Error(), `"swpa"`) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

func TestChecks(t *testing.T) {
	noExtra := &facts.Facts{
		Kernel: facts.Kernel{Release: "6.12.0-55.9.1.el10_0.x86_64"},
		Modules: all(facts.Loadable, map[string]facts.Module{"br_netfilter": facts.Missing, "nft_compat": facts.Missing, "xt_comment": facts.Missing, "xt_MASQUERADE": facts.Missing,
			"ipt_MASQUERADE": facts.Missing}),
	}
	v1 := &facts.Facts{Cgroup: facts.Cgroup{Mode: "v1"}}
	typed := func(kind string) *facts.Facts {
		return &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/", Type: kind}}}
	}
	installs := Want{SysctlFile: "/etc/sysctl.d/90-ours.conf", KubeletSysctls: kubeletSysctls()}
	sysctl := func(now, boot, file string) *facts.Facts {
		return &facts.Facts{Sysctls: []facts.Sysctl{{Name: "net.bridge.bridge-nf-call-iptables", Value: now, Boot: boot, File: file}}}
	}
	runChecks(t, []checkTest{
		{"Fedora", osSupported, &facts.Facts{OS: facts.OS{ID: "fedora", Version: "42"}}, Want{}, Fail, "fedora 42"},
		{"EL 7", osSupported, &facts.Facts{OS: facts.OS{ID: "rhel", Version: "7.9"}}, Want{}, Fail, "rhel 7.9"},
		{"CentOS Stream, no bundle", osSupported, &facts.Facts{OS: facts.OS{ID: "centos", Version: "10"}}, Want{}, Pass, "centos 10"},

		{"a plain container", systemdInit, &facts.Facts{Init: "sh"}, Want{}, Fail, "sh"},
		{"a server", systemdInit, &facts.Facts{Init: "systemd"}, Want{}, Pass, "systemd"},

		{"3.10", kernelVersion, &facts.Facts{Kernel: facts.Kernel{Release: "3.10.0-1160.el7"}}, Want{}, Fail, "3.10"},
		{"unreadable release", kernelVersion, &facts.Facts{Kernel: facts.Kernel{Release: "custom"}}, Want{}, Error, "custom"},
		{"nftables mode on EL 8", kernelVersion, &facts.Facts{Kernel: facts.Kernel{Release: "4.18.0"}}, Want{ProxyMode: "nftables"}, Fail, "4.18"},
		{"Linux 7", kernelVersion, &facts.Facts{Kernel: facts.Kernel{Release: "7.0"}}, Want{ProxyMode: "nftables"}, Pass, "7.0"},

		{"br_netfilter is not loaded yet", bridgeNF, sysctl("", "", ""), installs, Pass, "install sets it to 1"},
		{"bridged packets bypass the filter", bridgeNF, sysctl("0", "", ""), installs, Pass, "0 now; install sets it to 1"},
		{"at every boot, before airgap's file", bridgeNF, sysctl("0", "0", "/etc/sysctl.d/50-hardening.conf"), installs, Pass, "install sets it to 1"},
		{"at every boot, after airgap's file", bridgeNF, sysctl("1", "0", "/etc/sysctl.d/99-hardening.conf"), installs, Fail, "/etc/sysctl.d/99-hardening.conf sets net.bridge.bridge-nf-call-iptables = 0"},
		{"in sysctl.conf, which sorts last", bridgeNF, sysctl("1", "0", "/etc/sysctl.conf"), installs, Fail, "/etc/sysctl.conf"},

		{"built-in modules count", kernelModules, &facts.Facts{Modules: all(facts.BuiltIn, nil)}, Want{Network: network("flannel")}, Pass, "all 8 modules"},
		{"EL 8's MASQUERADE", kernelModules, &facts.Facts{Modules: all(facts.Loadable, map[string]facts.Module{"xt_MASQUERADE": facts.Missing})}, Want{}, Pass, ""},
		{"cilium needs xt in any mode", kernelModules, &facts.Facts{Modules: all(facts.Loaded, map[string]facts.Module{"xt_comment": facts.Missing, "nft_compat": facts.Missing})},
			Want{ProxyMode: "nftables", Network: nativeCilium()}, Fail, "nft_compat, xt_comment"},
		{"nftables mode needs no xt", kernelModules, &facts.Facts{Modules: all(facts.Loaded, map[string]facts.Module{"xt_comment": facts.Missing, "nft_compat": facts.Missing})},
			Want{ProxyMode: "nftables"}, Pass, ""},
		{"no vxlan, and none required", kernelModules, &facts.Facts{Modules: all(facts.Loaded, map[string]facts.Module{"vxlan": facts.Missing})}, Want{}, Pass, ""},
		{"no vxlan", kernelModules, &facts.Facts{Modules: all(facts.Loaded, map[string]facts.Module{"vxlan": facts.Missing})}, Want{Network: network("flannel")}, Fail, "vxlan"},
		{"EL 10's image, and the rest in the bundle", kernelModules, noExtra, Want{Network: nativeCilium(), ModulesExtra: []string{"6.12.0-55.9.1.el10_0.x86_64"}}, Pass,
			"with kernel-modules-extra of the bundle: br_netfilter, nft_compat, xt_comment, xt_MASQUERADE or ipt_MASQUERADE"},
		{"the rest for another kernel", kernelModules, noExtra, Want{ModulesExtra: []string{"6.12.0-55.27.1.el10_0.x86_64"}}, Fail, "missing: br_netfilter, nft_compat"},
		{"a module in no extra package", kernelModules, &facts.Facts{Kernel: noExtra.Kernel, Modules: all(facts.Loaded, map[string]facts.Module{"vxlan": facts.Missing})},
			Want{Network: network("flannel"), ModulesExtra: []string{noExtra.Kernel.Release}}, Fail, "missing: vxlan"},
		{"blocked", kernelModules, &facts.Facts{Modules: all(facts.Loaded, map[string]facts.Module{"overlay": facts.Blocked})}, Want{}, Fail, "disabled by an install line: overlay"},

		{"one CPU, worker", cpuCount, &facts.Facts{CPUs: 1}, Want{Roles: []Role{Worker}}, Warn, "1"},
		{"one CPU, control plane", cpuCount, &facts.Facts{CPUs: 1}, Want{Roles: []Role{ControlPlane}}, Fail, "1"},
		{"one CPU, within the site's limit", cpuCount, &facts.Facts{CPUs: 1}, Want{Roles: []Role{ControlPlane}, Site: site("cpu-count", "fail", "1", "warn", "1")}, Pass, "1"},
		{"an 8 GB machine", memory, &facts.Facts{Memory: 7_770_000_000}, Want{Roles: []Role{ControlPlane}}, Pass, "7.8 GB"},
		{"a 2 GB machine", memory, &facts.Facts{Memory: 1_900_000_000}, Want{Roles: []Role{ControlPlane}}, Warn, "1.9 GB"},
		{"a 1 GB machine", memory, &facts.Facts{Memory: 1_000_000_000}, Want{Roles: []Role{ControlPlane}}, Fail, "953 MiB"},
		{"less than kubeadm's minimum", memory, &facts.Facts{Memory: 1_750_000_000}, Want{Roles: []Role{ControlPlane}}, Fail, "1668 MiB"},
		{"kubeadm's minimum", memory, &facts.Facts{Memory: 1700 * 1024 * 1024}, Want{Roles: []Role{ControlPlane}}, Warn, "1.8 GB"},

		{"XFS", fsType, typed("xfs"), Want{Roles: []Role{ControlPlane}}, Pass, "xfs on /var/lib/etcd"},
		{"a worker has no etcd", fsType, &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/", Type: "ext4"}, {Path: "/var/lib/etcd", Type: "nfs4"}}}, Want{}, Pass,
			"ext4 on /var/lib/containerd, ext4 on /var/lib/kubelet"},
		{"etcd on NFS", fsType, &facts.Facts{Filesystems: []facts.Filesystem{{Path: "/", Type: "ext4"}, {Path: "/var/lib/etcd", Type: "nfs4"}}}, Want{Roles: []Role{ControlPlane}}, Fail,
			"nfs4 on /var/lib/etcd"},
		{"a container's own root", fsType, typed("overlay"), Want{CRIO: true}, Fail, "overlay on /var/lib/crio"},
		{"FUSE", fsType, typed("fuse.glusterfs"), Want{}, Fail, "fuse.glusterfs"},
		{"no cloud setup", nmCloudSetup, &facts.Facts{}, Want{}, Pass, "off"},
		{"cloud setup by its timer", nmCloudSetup, &facts.Facts{Units: []facts.Unit{{Name: "nm-cloud-setup.service", State: "inactive", Enabled: "disabled"},
			{Name: "nm-cloud-setup.timer", State: "active", Enabled: "enabled"}}}, Want{}, Fail,
			"nm-cloud-setup.timer is on"},
		{"installed, but off", nmCloudSetup, &facts.Facts{Units: []facts.Unit{{Name: "nm-cloud-setup.service", State: "inactive", Enabled: "disabled"}}}, Want{}, Pass, "off"},

		{"v1, kubelet 1.34", cgroupVersion, v1, Want{KubernetesVersion: "v1.34.2"}, Warn, "v1"},
		{"v1, kubelet 1.35", cgroupVersion, v1, Want{KubernetesVersion: "1.35.0"}, Fail, "v1"},
		{"v1, allowed", cgroupVersion, v1, Want{KubernetesVersion: "1.36.3", AllowCgroupV1: true}, Warn, "v1"},
		{"v1, unknown kubelet", cgroupVersion, v1, Want{KubernetesVersion: "latest"}, Fail, "v1"},
		{"none", cgroupVersion, &facts.Facts{}, Want{AllowCgroupV1: true}, Fail, "no cgroups"},
		{"v1 needs a freezer", cgroupControllers, &facts.Facts{Cgroup: facts.Cgroup{Mode: "v1", Controllers: []string{"cpu", "cpuset", "memory", "pids"}}}, Want{}, Fail, "freezer"},
		{"no memory controller", cgroupControllers, &facts.Facts{Cgroup: facts.Cgroup{Mode: "v2", Controllers: []string{"cpu", "cpuset", "pids"}}}, Want{}, Fail, "memory"},
		{"driver of an old kubelet", cgroupDriver, &facts.Facts{Init: "systemd", Cgroup: facts.Cgroup{KubeletDriver: "cgroupfs"}}, Want{}, Pass, "systemd"},
		{"driver of airgap's kubelet", cgroupDriver, &facts.Facts{Init: "systemd", Cgroup: facts.Cgroup{KubeletDriver: "cgroupfs", ContainerdDriver: "systemd"}}, Want{Managed: true}, Warn,
			"the kubelet uses cgroupfs"},

		{"no machine ID", machineIDs, &facts.Facts{}, Want{}, Fail, "none"},
		{"image's machine ID", machineIDs, &facts.Facts{Identity: facts.Identity{MachineID: "uninitialized"}}, Want{}, Fail, "uninitialized"},
		{"localhost", hostname, &facts.Facts{Host: "localhost.localdomain"}, Want{}, Fail, "localhost"},
		{"underscore", hostname, &facts.Facts{Host: "bank_01"}, Want{}, Fail, "bank_01"},
		{"capital letters", hostname, &facts.Facts{Host: "BANK-01.example"}, Want{}, Warn, "BANK-01"},
		{"64 letters", hostname, &facts.Facts{Host: strings.Repeat("a", 64)}, Want{}, Fail, "aaa"},
		{"loopback name, no address given", hostsFile, &facts.Facts{Host: "b", Hosts: []facts.HostsEntry{{Address: "127.0.1.1", Names: []string{"b"}}}}, Want{}, Fail, "127.0.1.1"},
		{"another address", hostsFile, &facts.Facts{Host: "b", Hosts: []facts.HostsEntry{{Address: "10.0.0.2", Names: []string{"b"}}}}, Want{NodeAddress: "10.0.0.1"}, Warn, "10.0.0.2"},

		{"enforcing, policy in the bundle", selinux, &facts.Facts{Security: facts.Security{SELinux: "enforcing"}}, Want{Packages: []string{"container-selinux"}}, Pass, "the bundle has"},
		{"fapolicyd", fapolicyd, &facts.Facts{Units: []facts.Unit{{Name: "fapolicyd.service", State: "active", Enabled: "enabled"}}}, Want{}, Pass, "install adds"},
		{"fapolicyd, and NVIDIA's installer", fapolicyd, &facts.Facts{Units: []facts.Unit{{Name: "fapolicyd.service", State: "active", Enabled: "enabled"}}}, Want{Roles: []Role{GPU}, Installer: true}, Fail,
			"the driver comes from NVIDIA's installer"},
		{"fapolicyd, and NVIDIA's installer elsewhere", fapolicyd, &facts.Facts{Units: []facts.Unit{{Name: "fapolicyd.service", State: "active", Enabled: "enabled"}}},
			Want{Roles: []Role{Worker}, Installer: true}, Pass,
			"install adds"},
		{"no fapolicyd, and NVIDIA's installer", fapolicyd, &facts.Facts{}, Want{Roles: []Role{GPU}, Installer: true}, Pass, "not active"},
		{"install opens firewalld", firewalld, &facts.Facts{Units: []facts.Unit{{Name: "firewalld.service", State: "active", Enabled: "enabled"}}}, Want{}, Pass, "install opens"},
		{
			"firewalld denies first", firewalld,
			&facts.Facts{
				Units: []facts.Unit{{Name: "firewalld.service", State: "active", Enabled: "enabled"}},
				Asked: facts.Asked{ClosedPorts: []facts.ClosedPorts{{Rule: `"drop" in chain filter_IN_public_pre of table inet firewalld`, Table: "inet firewalld", Ports: []string{"10250/tcp"}}}},
			}, Want{}, Fail, `10250/tcp: closed by "drop" in chain filter_IN_public_pre`,
		},
		{"firewalld and calico", firewalld, &facts.Facts{Units: []facts.Unit{{Name: "firewalld.service", State: "active", Enabled: "enabled"}}}, Want{Network: network("calico")}, Fail, "active"},
		{"calico without firewalld", firewalld, &facts.Facts{}, Want{Network: network("calico")}, Pass, "not active"},
		{
			"firewalld of the site", firewalld,
			&facts.Facts{Units: []facts.Unit{{Name: "firewalld.service", State: "active", Enabled: "enabled"}}}, Want{FirewallLeft: []string{"6443/tcp from anywhere"}}, Warn, "does not let install change it",
		},
		{"install turns swap off", swap, &facts.Facts{Swap: []facts.SwapArea{{Path: "/dev/dm-1", Size: 4 * gigabyte}}}, Want{SwapOff: true}, Pass, "install turns it off"},
		{"swap", swap, &facts.Facts{Swap: []facts.SwapArea{{Path: "/dev/zram0", Size: 4 * gigabyte}}}, Want{}, Fail, "/dev/zram0"},
		{"FIPS", fips, &facts.Facts{Security: facts.Security{FIPS: true}}, Want{}, Warn, "on"},
	})
}

// checkTest is a check, the facts of a host, and the expected result.
type checkTest struct {
	name  string
	check Check
	facts *facts.Facts
	want  Want
	got   Status
	found string // substring of Found
}

func runChecks(t *testing.T, tests []checkTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.check.ID+"/"+test.name, func(t *testing.T) {
			got := test.check.judge(test.facts, &test.want, nil)
			if got.Status != test.got || !strings.Contains(got.Found, test.found) {
				t.Errorf("got %+v, want %s with %q", got, test.got, test.found)
			}
			if (got.Status == Fail || got.Status == Warn) && (got.Want == "" || got.Fix == "") {
				t.Errorf("%+v has no fix or expected state", got)
			}
		})
	}
}

// site returns settings of a check: name, value, name, value.
func site(check string, pairs ...string) Config {
	settings := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		settings[pairs[i]] = pairs[i+1]
	}
	return Config{Checks: Settings{check: settings}}
}

func driver(g facts.GPUs) *facts.Facts {
	return &facts.Facts{Driver: "NVRM version: x", Asked: facts.Asked{GPUs: &g}}
}

func gpus(free, reserved string) *facts.Facts {
	return &facts.Facts{Asked: facts.Asked{GPUs: &facts.GPUs{Free: free, Reserved: reserved}}}
}

func TestCheckList(t *testing.T) {
	known := map[string]bool{}
	for _, name := range facts.Names() {
		known[name] = true
	}
	seen := map[string]bool{}
	for _, c := range Checks() {
		if c.ID == "" || c.Title == "" || c.Source == "" || c.Run == nil {
			t.Errorf("check %q has an empty field", c.ID)
		}
		if seen[c.ID] {
			t.Errorf("check %s is listed twice", c.ID)
		}
		seen[c.ID] = true
		names := map[string]bool{severity: true}
		for _, l := range c.Limits {
			if l.Check != c.ID || l.About == "" || l.Default == nil || names[l.Name] {
				t.Errorf("check %s: limit %q of %q has an empty field, or is a duplicate", c.ID, l.Name, l.Check)
			}
			names[l.Name] = true
		}
		for _, need := range c.Needs {
			if !known[need] {
				t.Errorf("check %s needs %q, which no probe reads", c.ID, need)
			}
		}
	}
}

func TestSkip(t *testing.T) {
	gathered := gather(t, "rhel8-cgroup1-podman-swap")
	report, err := Run(context.Background(), gathered, Want{KubernetesVersion: "1.36.3"}, Choice{Skip: []string{"swap", "cgroup-version"}})
	if err != nil {
		t.Fatal(err)
	}
	if failed := ids(report, Fail); len(failed) > 0 {
		t.Errorf("failed although skipped: %q", failed)
	}
	if skipped := ids(report, Skip); !slices.Contains(skipped, "swap") || !slices.Contains(skipped, "cgroup-version") {
		t.Errorf("skipped: %q", skipped)
	}
	if _, err := Run(context.Background(), gathered, Want{}, Choice{Skip: []string{"swpa"}}); err == nil {
		t.Error("an unknown check to skip was accepted silently")
	}
}

func TestReportForms(t *testing.T) {
	report := Report{Host: "bank-01", System: "Rocky Linux 9.6", Kernel: "5.14", Taken: time.Unix(1_795_000_000, 0).UTC(), Worst: Fail, Results: []Entry{
		{ID: "a", Title: "A", Source: "x", Site: "fail 1", Result: pass("fine & well")},
		{ID: "b", Title: "B", Source: "x", Site: "severity warn", Result: Result{Warn, "found", "expected", "repair"}},
		{ID: "c", Title: "C", Source: "x", Site: "", Result: Result{Fail, "two\nlines", "<expected>", "repair"}, Capture: []string{"a 00:00:00.000001 out 10.0.0.1.99 > 10.0.0.2.6443: TCP SYN, ttl 64"}},
		{ID: "d", Title: "D", Source: "x", Site: "", Result: Result{Status: Error, Found: "unknown"}},
		{ID: "e", Title: "E", Source: "x", Site: "", Result: skipped("no need")},
	}}
	golden(t, "forms.txt", report.Text)
	golden(t, "forms.json", func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	})
	golden(t, "forms.xml", report.JUnit)

	var buffer bytes.Buffer
	if err := report.JUnit(&buffer); err != nil {
		t.Fatal(err)
	}
	var suite ui.Suite
	if err := xml.Unmarshal(buffer.Bytes(), &suite); err != nil || suite.Failures != 1 || suite.Errors != 1 || suite.Skipped != 1 || len(suite.Cases) != 5 {
		t.Errorf("JUnit comes back as %+v, %v", suite, err)
	}
}

// TestIdleWatch: one minute by default, and at most half an hour.
func TestIdleWatch(t *testing.T) {
	for text, want := range map[string]time.Duration{"": time.Minute, "5m": 5 * time.Minute, "0s": 0, "2h": 30 * time.Minute} {
		var site Config
		if text != "" {
			site.Checks = map[string]map[string]string{LoadBalancerIdle: {"watch": text}}
		}
		if got := IdleWatch(site); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// network has the needs of a plugin with tunnels.
func network(plugin string) cni.Needs {
	c := cni.Config{Plugin: plugin}
	c.Default()
	return cni.NeedsOf(c)
}

// native has the needs of a plugin without tunnels.
func nativeCilium() cni.Needs {
	return cni.NeedsOf(cni.Config{Plugin: "cilium", Encapsulation: cni.Native})
}
