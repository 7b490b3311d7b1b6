package preflight

import (
	"testing"

	"airgap.dev/airgap/preflight/agents"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/packetfilter"
	"airgap.dev/airgap/preflight/unitfile"
)

// TestPacketRules: rules that stop all packets fail, and rules of which this cannot be told warn.
func TestPacketRules(t *testing.T) {
	block := func(at, hook string, policy bool, accepts ...string) packetfilter.Block {
		return packetfilter.Block{At: at, Table: "ip filter", Chain: "X", Hook: hook, Rule: "reject", Policy: policy, Accepts: accepts}
	}
	now := func(blocks ...packetfilter.Block) *facts.Facts {
		return &facts.Facts{PacketRules: facts.PacketRules{Now: packetfilter.Rules{Blocks: blocks}}}
	}
	saved := func(state, enabled string, s packetfilter.Saved) *facts.Facts {
		s.Unit = "iptables.service"
		return &facts.Facts{PacketRules: facts.PacketRules{Saved: []packetfilter.Saved{s}}, Units: []facts.Unit{{Name: "iptables.service", State: state, Enabled: enabled}}}
	}
	tried := now(block("", "forward", false))
	tried.Asked.PodPath.Outcome = facts.OutcomeOf(nil)
	ports := Want{Ports: controlPlanePorts()}
	rejecting := packetfilter.Saved{Rules: packetfilter.Rules{Blocks: []packetfilter.Block{block("/etc/sysconfig/iptables:12", "input", false)}}}
	chains := func(now, saved []string) *facts.Facts {
		return &facts.Facts{PacketRules: facts.PacketRules{Now: packetfilter.Rules{Chains: now}, Saved: []packetfilter.Saved{{Rules: packetfilter.Rules{Chains: saved}}}}}
	}
	lost := func(blocks ...packetfilter.Block) *facts.Facts {
		f := now(blocks...)
		f.Asked.PodPath = facts.PodPath{Outcome: facts.OutcomeOf(nil), Lost: []string{"TCP"}}
		return f
	}
	firewalled := lost()
	firewalled.Units = []facts.Unit{{Name: "firewalld.service", State: "active", Enabled: "enabled"}}
	runChecks(t, []checkTest{
		{"a last rule", nftForeign, now(block("", "forward", false)), ports, Fail, `chain X of table ip filter (forward) ends with "reject"`},
		{"packets pass it", nftForeign, tried, ports, Pass, "none"},
		{"a last rule after SSH", nftForeign, now(block("", "input", false, "tcp dport 22 accept", "ct state established,related accept", `iif "lo" accept`)), ports, Fail, "ends with"},
		{"a last rule after our ports", nftForeign, now(block("", "input", false, "tcp dport { 22, 6000-7000 } accept")), ports, Warn, "1 earlier rules accept"},
		{"a last rule after a network", nftForeign, now(block("", "forward", false, "ip saddr 10.244.0.0/16 accept")), ports, Warn, "10.244.0.0/16"},
		{"ports do not help pods", nftForeign, now(block("", "forward", false, "-A FORWARD -p tcp --dport 6443 -j ACCEPT")), ports, Fail, "ends with"},
		{"a last rule after one of our ports", nftForeign, &facts.Facts{
			PacketRules: facts.PacketRules{Now: packetfilter.Rules{Blocks: []packetfilter.Block{block("", "input", false, "tcp dport 6443 accept")}}},
			Asked:       facts.Asked{ClosedPorts: []facts.ClosedPorts{{Rule: `"reject" in chain X of table ip filter`, Table: "ip filter", Ports: []string{"10250/tcp"}}}},
		}, ports, Fail, `10250/tcp: closed by "reject" in chain X of table ip filter`},
		{"an output chain", nftForeign, now(block("", "output", false)), ports, Pass, "none"},
		{"the next boot", nftForeign, saved("inactive", "enabled", rejecting), ports, Fail, "in /etc/sysconfig/iptables:12"},
		{"a file that nothing loads", nftForeign, saved("inactive", "disabled", rejecting), ports, Pass, "none"},
		{"a restart flushes", nftForeign, saved("active", "disabled", packetfilter.Saved{}), ports, Warn, "iptables.service is active and disabled: its restart or stop deletes"},
		{"stale rules", nftForeign, saved("active", "enabled", packetfilter.Saved{Rules: packetfilter.Rules{Cluster: []string{"KUBE-SERVICES /etc/sysconfig/iptables:4"}}}), ports, Fail,
			"an earlier cluster: KUBE-SERVICES /etc/sysconfig/iptables:4"},
		{"rules saved on stop", nftForeign, saved("active", "enabled", packetfilter.Saved{SaveOnStop: []string{"IPTABLES_SAVE_ON_STOP=yes in /f:3"}}), ports, Warn, "IPTABLES_SAVE_ON_STOP=yes in /f:3"},
		{"too many rules", nftForeign, &facts.Facts{PacketRules: facts.PacketRules{Now: packetfilter.Rules{Unread: []string{"more"}}}}, ports, Warn, "cannot read: more"},
		{"an agent", segmentation, &facts.Facts{Agents: agents.Agents{Known: []agents.Agent{{Product: "A", Seen: "unit a.service", Filters: true}}}}, Want{}, Fail, "A runs (unit a.service)"},
		{"an agent by its chains", segmentation, chains([]string{"ip filter TA_INPUT", "ip filter TA_OUTPUT"}, nil), Want{}, Fail, "Tetration) owns chain TA_INPUT"},
		{"an unknown owner", segmentation, chains([]string{"inet agent in"}, nil), Want{}, Warn, "inet agent in"},
		{"the site's own chains", segmentation, chains([]string{"inet site in", "ip filter INPUT", "inet firewalld filter_INPUT", "ip filter DOCKER-USER"}, []string{"inet site in"}), Want{}, Pass, "none"},
		{"confirmed", segmentation, chains([]string{"ip filter TA_INPUT"}, nil), Want{Site: Config{Checks: Settings{"segmentation-agent": {"severity": "warn"}}}}, Warn, "TA_INPUT"},
		{"not tried", podPath, &facts.Facts{}, Want{}, Skip, "only preflight on the server"},
		{"cannot be tried", podPath, &facts.Facts{Asked: facts.Asked{PodPath: facts.PodPath{Outcome: facts.Outcome{Done: true, Failed: "no namespaces"}}}}, Want{}, Error, "no namespaces"},
		{"dropped", podPath, &facts.Facts{Asked: facts.Asked{PodPath: facts.PodPath{Outcome: facts.OutcomeOf(nil), Lost: []string{"TCP"}, Rules: []string{"rule"}}}}, Want{}, Fail,
			"TCP did not pass:\nrule"},
		{"a policy of iptables, before which plugins add rules", podPath, lost(block("", "forward", true)), Want{}, Warn, "chain X of table ip filter: reject"},
		{"a policy of another table", podPath, lost(packetfilter.Block{Table: "inet site", Hook: "forward", Policy: true}), Want{}, Fail, "inet site"},
		{"a last rule of iptables", podPath, lost(block("", "forward", false)), Want{}, Fail, "chain X of table ip filter: reject"},
		{"an unknown rule", podPath, lost(), Want{}, Fail, "TCP did not pass"},
		{"firewalld, which install opens", podPath, firewalled, Want{}, Skip, "firewalld rejects"},
		{"firewalld of the site", podPath, firewalled, Want{FirewallLeft: []string{"6443/tcp"}}, Warn, "firewalld rejects"},
		{"passed", podPath, tried, Want{}, Pass, "TCP and UDP pass"},
	})
}

// oldSystemd are facts of EL 8.
func oldSystemd(f *facts.Facts) *facts.Facts {
	f.Systemd = 239
	return f
}

// TestHardenedServices: what a scanner, a drop-in or a proxy does counts, not its name.
func TestHardenedServices(t *testing.T) {
	watched := func(w ...agents.Watcher) *facts.Facts { return &facts.Facts{Agents: agents.Agents{Watchers: w}} }
	all := func(text string) *facts.Facts { return dropIns("service", text) }
	own := func(text string) *facts.Facts { return dropIns("kubelet", text) }
	program := func(of, section, key, value string) *facts.Facts {
		return &facts.Facts{UnitFiles: []unitfile.File{{Path: "/etc/systemd/" + of + ".conf", Unit: of, Kind: unitfile.Main,
			Settings: []unitfile.Setting{{Line: 3, Section: section, Key: key, Value: value}}}}}
	}
	login := func(key, value string) *facts.Facts { return program("logind", "Login", key, value) }
	cluster := Want{NodeAddress: "10.0.0.1", PodSubnet: "10.244.0.0/16,fd00:1::/48", ServiceSubnet: "10.96.0.0/12"}
	proxied := func(except string) *facts.Facts {
		return &facts.Facts{Manager: facts.Manager{Proxy: map[string]string{"HTTPS_PROXY": "http://p:1", "NO_PROXY": except}}}
	}
	runChecks(t, []checkTest{
		{"an unknown scanner", antivirus, watched(agents.Watcher{Program: "guardd", Blocks: true}), Want{}, Warn, "guardd decides about each opened file"},
		{"a program that only listens", antivirus, watched(agents.Watcher{Program: "indexer"}), Want{}, Warn, "indexer watches"},
		{"fapolicyd", antivirus, watched(agents.Watcher{Program: "fapolicyd", Blocks: true}), Want{}, Pass, "eBPF are not seen"},
		{"a foreign module", antivirus, &facts.Facts{Agents: agents.Agents{Modules: []string{"secmod"}}}, Want{}, Warn, "unknown vendor: secmod"},
		{"a known agent", antivirus, &facts.Facts{Agents: agents.Agents{Known: []agents.Agent{{Product: "F", Seen: "program f"}}}}, Want{}, Warn, "F runs (program f)"},
		{"not seen", antivirus, &facts.Facts{Unknown: []facts.Unknown{{Fact: "agents", Reason: "find: permission denied"}}}, Want{}, Error, "permission denied"},
		{"mounts of its own", serviceRules, all("PrivateTmp=yes"), Want{}, Fail, "PrivateTmp=yes for kubelet in /etc/systemd/system/service.service.d/a.conf line 2"},
		{"the unit's own exception", serviceRules, together(all("PrivateTmp=yes"), dropIns("kubelet", "Nice=1", "PrivateTmp=no"), dropIns("containerd", "PrivateTmp=no")), Want{}, Pass, "no drop-in"},
		{"the default again", serviceRules, together(all("NoNewPrivileges=true"), dropIns("kubelet", "Nice=1", "NoNewPrivileges="), dropIns("containerd", "NoNewPrivileges=")), Want{}, Pass, "no drop-in"},
		{"a drop-in that EL 8 ignores", serviceRules, oldSystemd(all("ProtectSystem=strict")), Want{}, Pass, "no drop-in"},
		{"a drop-in that EL 8 reads", serviceRules, oldSystemd(own("ProtectSystem=full")), Want{}, Fail, "ProtectSystem=full"},
		{"few tasks", serviceRules, own("TasksMax=512"), Want{}, Warn, "TasksMax=512"},
		{"many files", serviceRules, own("LimitNOFILE=1024:524288"), Want{}, Pass, "no drop-in"},
		{"enough families", serviceRules, own("RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_PACKET"), Want{}, Pass, "no drop-in"},
		{"too few families", serviceRules, own("RestrictAddressFamilies=AF_UNIX AF_INET"), Want{}, Fail, "every container inherits it"},
		{"families that are denied", serviceRules, own("RestrictAddressFamilies=~AF_NETLINK"), Want{}, Fail, "AF_NETLINK"},
		{"for all services", serviceRules, program("systemd", "Manager", "DefaultTasksMax", "512"), Want{CRIO: true}, Warn,
			"DefaultTasksMax=512 for systemd"},
		{"services with a strict umask", umask, dropIns("service", "UMask=0077"), Want{}, Warn,
			"UMask=0077 for kubelet, in /etc/systemd/system/service.service.d/a.conf line 2; UMask=0077 for containerd"},
		{"an exception only for the kubelet", umask, together(dropIns("service", "UMask=0077"), dropIns("kubelet", "UMask=0022")),
			Want{CRIO: true}, Warn, "UMask=0077 for crio"},
		{"an exception for both", umask, together(dropIns("service", "UMask=0077"), dropIns("kubelet", "UMask=0022"), dropIns("containerd", "UMask=0022")), Want{}, Pass, "022"},
		{"a drop-in that EL 8 ignores", umask, oldSystemd(dropIns("service", "UMask=0077")), Want{}, Pass, "022"},
		{"logins with a strict umask", umask, &facts.Facts{Umask: facts.Umask{Login: "077"}}, Want{}, Pass, "077 at login"},
		{"a quiet session", logins, login("StopIdleSessionSec", "15min"), Want{}, Warn, "StopIdleSessionSec=15min in /etc/systemd/logind.conf line 3"},
		{"no limit", logins, login("StopIdleSessionSec", "infinity"), Want{}, Pass, "does not end"},
		{"zero", logins, login("StopIdleSessionSec", "0s"), Want{}, Pass, "does not end"},
		{"tmux ends", logins, login("KillUserProcesses", "yes"), Want{}, Warn, "KillUserProcesses=yes"},
		{"tmux stays", logins, login("KillUserProcesses", "no"), Want{}, Pass, "does not end"},
		{"subnets through the proxy", proxyEnv, proxied("10.0.0.0/24,.svc"), cluster, Warn, "also applies to 10.244.0.0/16, fd00:1::/48, 10.96.0.0/12"},
		{"a node and subnets through the proxy", proxyEnv, proxied(".svc"), cluster, Fail, "applies to 10.0.0.1, 10.244.0.0/16"},
		{"larger networks", proxyEnv, proxied("10.0.0.0/8,fd00::/16"), cluster, Pass, "none for"},
		{"a part of the subnet", proxyEnv, proxied("10.0.0.0/24,10.244.0.0/24,fd00::/16,10.96.0.0/12"), cluster, Warn, "applies to 10.244.0.0/16"},
	})
}
