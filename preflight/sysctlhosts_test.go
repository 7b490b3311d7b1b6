package preflight

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/facts"
)

// TestParametersAtTheNextBoot: recorded hosts whose kernel parameters change with the next boot.
func TestParametersAtTheNextBoot(t *testing.T) {
	flannel := Want{
		NodeAddress: "10.20.0.11", Network: network("flannel"), SysctlFile: "/etc/sysctl.d/90-ours.conf", KubeletSysctls: kubeletSysctls(),
		Sysctls: []BootSysctl{{facts.ForwardingParameter, 1, false}, {facts.DefaultForwardingParameter, 1, false}, {"fs.inotify.max_user_instances", 8192, true}},
	}
	cilium := flannel
	cilium.Network = nativeCilium()
	nftables := flannel
	nftables.ProxyMode = "nftables"
	type found map[string]string // "STATUS TEXT" by check
	for _, test := range []struct {
		host string
		want Want
		not  found // every other check of kernel parameters passes
	}{
		{"rocky9", flannel, found{}},
		{"alma10-cis-forwarding", flannel, found{"ip-forward": "fail 1 now, but /etc/sysctl.d/net_ipv4_conf_default_forwarding.conf:3 sets net.ipv4.conf.default.forwarding = 0 at every boot: " +
			"the interfaces of pods, which are created later, do not forward"}},
		{"alma10-cis-forwarding", cilium, found{"ip-forward": "fail 1 now", "rp-filter": "pass not strict"}},
		{"rocky9-glob-forwarding", flannel, found{"ip-forward": "fail /etc/sysctl.d/99-site.conf:3 sets net.ipv4.conf.*.forwarding = 0 at every boot: off for cni0, flannel.1,"}},
		{"rocky9-usr-local-sysctl", flannel, found{"kernel-defaults": "fail /usr/local/lib/sysctl.d/99-vendor.conf:2 sets kernel.panic = 0 at every boot"}},
		{"rocky9-cmdline-sysctl", flannel, found{"user-namespaces": "warn /proc/cmdline sets user.max_user_namespaces = 0 at every boot; now 63355"}},
		{"rocky9-no-sysctl-link", flannel, found{}},
		{"rocky9-sysctl-link", flannel, found{"ip-forward": "fail /etc/sysctl.conf:2 sets net.ipv4.ip_forward = 0 at every boot"}},
		{"rocky9-tuned-sysctl-conf", flannel, found{"ip-forward": "fail /etc/sysctl.conf:2 sets net.ipv4.ip_forward = 0 at every boot"}},
		{"rocky9-tuned-wins", flannel, found{
			"ip-forward":      "fail /etc/tuned/bank-db/tuned.conf:5 sets net.ipv4.ip_forward = 0 at every boot",
			"kernel-defaults": "fail /usr/lib/tuned/throughput-performance/tuned.conf:5 sets vm.overcommit_memory = 2 at every boot",
			"sysctl-override": "warn tuned (profile bank-db)",
		}},
		{"rocky9-strict-later", flannel, found{
			"rp-filter":  "warn from the next boot on strict on ens192, bond0.100 (/etc/sysctl.d/60-cis.conf:1 sets net.ipv4.conf.*.rp_filter = 1)",
			"arp-sysctl": "warn from the next boot on arp_ignore = 1 on bond0.100 (/etc/sysctl.d/60-cis.conf:3 sets net.ipv4.conf.bond0/100.arp_ignore = 1)",
		}},
		{"rocky9-strict-later", cilium, found{"rp-filter": "fail from the next boot on strict", "arp-sysctl": "warn from the next boot on"}},
		{"rocky9-modules-locked-later", flannel, found{
			"modules-locked":  "fail not locked now, but /etc/sysctl.d/70-lock.conf:1 sets kernel.modules_disabled = 1 at every boot: the kernel then refuses",
			"limits":          "warn /etc/sysctl.d/70-lock.conf:2 sets kernel.pid_max = 32768 at every boot",
			"user-namespaces": "warn none can be created: user.max_user_namespaces = 0 now, although /etc/sysctl.d/70-lock.conf:3 sets user.max_user_namespaces = 15000",
		}},
		{"rocky9-modules-listed", flannel, found{
			"modules-locked":  "pass not locked now, /etc/sysctl.d/70-lock.conf:1 sets kernel.modules_disabled = 1 at every boot; all required modules are built in or in modules-load.d",
			"limits":          "warn",
			"user-namespaces": "warn",
		}},
		{"rocky9-modules-listed", nftables, found{
			"modules-locked":  "fail not locked now, but /etc/sysctl.d/70-lock.conf:1 sets kernel.modules_disabled = 1 at every boot: the kernel then refuses nft_chain_nat, nft_nat, nft_masq",
			"limits":          "warn",
			"user-namespaces": "warn",
		}},
	} {
		t.Run(test.host, func(t *testing.T) {
			only := []string{
				"ip-forward", "bridge-nf", "kernel-defaults", "inotify", "sysctl-override", "rp-filter", "arp-sysctl", "conntrack",
				"user-namespaces", "modules-locked", "limits",
			}
			report, err := Run(context.Background(), gather(t, test.host), test.want, Choice{Only: only})
			require.NoError(t, err)
			for _, r := range report.Results {
				if want := test.not[r.ID]; want != "" {
					assert.Contains(t, string(r.Status)+" "+r.Found, want, r.ID)
				} else {
					assert.Equal(t, Pass, r.Status, "%s: %s", r.ID, r.Found)
				}
			}
		})
	}
}

// TestNowAndAtTheNextBoot: a value that was changed by hand, and one in a file that is not applied yet,
// have different findings.
func TestNowAndAtTheNextBoot(t *testing.T) {
	links := []facts.Link{
		{Name: "e0", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}},
		{Name: "e1.7", Addresses: []netip.Prefix{netip.MustParsePrefix("10.1.0.1/24")}},
	}
	set := func(name, now, boot, file, key string) facts.Sysctl {
		return facts.Sysctl{Name: name, Value: now, Boot: boot, File: "/etc/sysctl.d/" + file, Line: 2, Key: key}
	}
	gathered := func(now int, sysctls ...facts.Sysctl) *facts.Facts {
		return &facts.Facts{Links: links, Filtering: []facts.Filtering{{Link: "all", RPFilter: now, ARPFilter: 0, ARPIgnore: 0}},
			Sysctls: append(sysctls, facts.Sysctl{Name: facts.ForwardingParameter, Value: "1"})}
	}
	node := Want{NodeAddress: "10.0.0.1", SysctlFile: "/etc/sysctl.d/90-ours.conf", KubeletSysctls: kubeletSysctls()}
	calico := node
	calico.Network = network("calico")
	const forAll, glob = "net.ipv4.conf.all.rp_filter", "net.ipv4.conf.*.forwarding"
	runChecks(t, []checkTest{
		{"strict in a file, loose by hand", rpFilter, gathered(2, set(forAll, "", "1", "a.conf", "")),
			node, Warn, "from the next boot on strict on e0, e1.7 (/etc/sysctl.d/a.conf:2 sets net.ipv4.conf.all.rp_filter = 1)"},
		{"loose in a file, strict by hand", rpFilter, gathered(1, set(forAll, "", "2", "a.conf", "")),
			node, Warn, "strict on e0, e1.7 now, although /etc/sysctl.d/a.conf:2 sets net.ipv4.conf.all.rp_filter = 2 at every boot"},
		{"strict by hand", rpFilter, gathered(1), node, Warn, "strict on e0, e1.7"},
		{"strict now and in a file", rpFilter, gathered(1, set(forAll, "", "1", "a.conf", "")), node, Warn, "strict on e0, e1.7 (/etc/sysctl.d/a.conf:2"},
		{"calico, loose for all in a file", rpFilter, gathered(0, set(forAll, "", "2", "a.conf", "")), calico, Fail, "from the next boot on loose for all links (/etc/sysctl.d/a.conf:2"},
		{"a VLAN in a file", rpFilter, gathered(0, set("net.ipv4.conf.e1/7.rp_filter", "", "1", "a.conf", "")), node, Warn, "strict on e1.7 (/etc/sysctl.d/a.conf:2 sets net.ipv4.conf.e1/7.rp_filter = 1)"},
		{"ARP in a file", arpSysctl, gathered(0, set("net.ipv4.conf.all.arp_ignore", "", "2", "a.conf", "")), node, Warn, "from the next boot on arp_ignore = 2 on e0, arp_ignore = 2 on e1.7 (/etc/"},

		{"the node's interface is off", ipForward, gathered(0, set("net.ipv4.conf.e0.forwarding", "1", "0", "10-a.conf", "")),
			node, Fail, "/etc/sysctl.d/10-a.conf:2 sets net.ipv4.conf.e0.forwarding = 0 at every boot: off for e0"},
		{"another interface is off", ipForward, gathered(0, set("net.ipv4.conf.e1/7.forwarding", "1", "0", "10-a.conf", "")), node, Warn, "off for e1.7"},
		{"a glob before install's file", ipForward, gathered(0, set("net.ipv4.conf.e0.forwarding", "1", "0", "10-a.conf", glob)), node, Pass, "1"},
		{"a glob after install's file", ipForward, gathered(0, set("net.ipv4.conf.cni0.forwarding", "", "0", "99-a.conf", glob)), node, Fail, "sets " + glob + " = 0 at every boot: off for cni0"},
		{"the default before install's file", ipForward, gathered(0, set(facts.DefaultForwardingParameter, "0", "0", "10-a.conf", "")), node, Pass,
			"1, but /etc/sysctl.d/10-a.conf:2 sets net.ipv4.conf.default.forwarding = 0 at every boot; install sets it to 1 in a later file"},
		{"the default by hand", ipForward, gathered(0, facts.Sysctl{Name: facts.DefaultForwardingParameter, Value: "0"}), node, Pass, "1, but 0 for new interfaces; install sets"},
		{"off in an earlier file", ipForward, &facts.Facts{Sysctls: []facts.Sysctl{set(facts.ForwardingParameter, "1", "0", "a.conf", "")}}, Want{SysctlFile: "/etc/sysctl.d/z.conf"}, Pass,
			"1 now, and /etc/sysctl.d/a.conf:2 sets net.ipv4.ip_forward = 0 at every boot; install sets it to 1 in a later file"},
		{"the default after install's file", ipForward, gathered(0, set(facts.DefaultForwardingParameter, "0", "0", "net.conf", "")),
			node, Fail, "/etc/sysctl.d/net.conf:2 sets " + facts.DefaultForwardingParameter + " = 0 at every boot: the"},

		{"forwarding by hand", ipForward, &facts.Facts{Sysctls: []facts.Sysctl{set(facts.ForwardingParameter, "0", "1", "a.conf", "")}}, node, Pass,
			"0 now, although /etc/sysctl.d/a.conf:2 sets net.ipv4.ip_forward = 1"},
		{"few connections from the next boot on", conntrack, gathered(0, set("net.netfilter.nf_conntrack_max", "262144", "65536", "a.conf", "")), node, Warn, "262144 now, but /etc/sysctl.d/a.conf:2 sets"},
		{"few processes from the next boot on", limits, gathered(0, set("kernel.threads-max", "100000", "1000", "a.conf", "")), node, Warn, "/etc/sysctl.d/a.conf:2 sets kernel.threads-max = 1000"},
		{"locked later, all built in", modulesLocked, &facts.Facts{Modules: all(facts.BuiltIn, nil), Sysctls: []facts.Sysctl{set(facts.LockedParameter, "0", "1", "a.conf", "")}}, node, Pass,
			"all required modules are built in"},
		{"the kernel's command line", kernelDefaults, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "kernel.panic", Boot: "0", File: "/proc/cmdline"}}}, node, Pass, "no file"},
		{"tuned, which applies the files again", kernelDefaults, &facts.Facts{Sysctls: []facts.Sysctl{{Name: "kernel.panic", Boot: "0", File: "/usr/lib/tuned/a/tuned.conf"}}}, node, Pass, "no file"},
		{"tuned, which does not", kernelDefaults, &facts.Facts{Tuned: facts.Tuned{Profile: "a", LeavesSysctls: true},
			Sysctls: []facts.Sysctl{{Name: "kernel.panic", Boot: "0", File: "/usr/lib/tuned/a/tuned.conf", Line: 3}}}, node, Fail,
			"/usr/lib/tuned/a/tuned.conf:3 sets kernel.panic = 0"},
	})
}
