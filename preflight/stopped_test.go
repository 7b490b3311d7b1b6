package preflight

import (
	"testing"

	"airgap.dev/airgap/preflight/agents"
	"airgap.dev/airgap/preflight/auditrules"
	"airgap.dev/airgap/preflight/facts"
)

// TestStoppedServices: a service that was stopped by hand counts if the next boot starts it, and one
// that runs counts as missing if no boot starts it.
func TestStoppedServices(t *testing.T) {
	unit := func(name, state, enabled string) *facts.Facts {
		return &facts.Facts{Units: []facts.Unit{{Name: name, State: state, Enabled: enabled}}, Time: facts.Time{Synchronized: true}}
	}
	stopped := func(name string) *facts.Facts { return unit(name, "inactive", "enabled") }
	audited := stopped("auditd.service")
	audited.Audit.Rules.Panics = &auditrules.Rule{At: "/f:1", Text: "-f 2"}
	agent := func(filters bool) *facts.Facts {
		return &facts.Facts{Agents: agents.Agents{Known: []agents.Agent{{Product: "A", Seen: "unit a.service", Filters: filters, Later: true}}}}
	}
	ours := Want{SysctlFile: "/etc/sysctl.d/90-ours.conf"}
	modules := unit("systemd-modules-load.service", "inactive", "masked")
	modules.Modules = all(facts.Loadable, nil)
	runChecks(t, []checkTest{
		{"firewalld", firewalld, stopped("firewalld.service"), Want{}, Fail, "stopped now, and the next boot starts it: it then closes the cluster's ports"},
		{"firewalld that failed", firewalld, unit("firewalld.service", "failed", "enabled"), Want{}, Fail, "the next boot starts it"},
		{"firewalld on a node", firewalld, stopped("firewalld.service"), Want{Managed: true}, Warn, "the next boot starts it"},
		{"firewalld of the site", firewalld, stopped("firewalld.service"), Want{FirewallLeft: []string{"6443/tcp"}}, Warn, "the next boot starts it, and airgap.yaml does not let install change it"},
		{"firewalld next to Calico", firewalld, stopped("firewalld.service"), Want{Network: network("calico")}, Fail, "the next boot starts it"},
		{"firewalld until the next boot", firewalld, unit("firewalld.service", "inactive", "enabled-runtime"), Want{}, Pass, "not active"},
		{"firewalld is masked until the next boot", firewalld, unit("firewalld.service", "inactive", "masked-runtime"), Want{}, Fail, "the next boot starts it"},
		{"firewalld is masked", firewalld, unit("firewalld.service", "inactive", "masked"), Want{}, Pass, "not active"},
		{"fapolicyd", fapolicyd, stopped("fapolicyd.service"), Want{}, Fail, "it then blocks the runtime's programs"},
		{"fapolicyd on a node", fapolicyd, stopped("fapolicyd.service"), Want{Managed: true}, Warn, "the next boot starts it"},
		{"auditd", auditd, audited, Want{}, Warn, "the kernel panics if a record is lost: -f 2 in /f:1"},
		{"chronyd is disabled", timeSync, unit("chronyd.service", "active", "disabled"), Want{}, Warn, "the next boot does not start chronyd"},
		{"another time service", timeSync, unit("chronyd.service", "inactive", "disabled"), Want{}, Pass, "synchronized"},
		{"a scanner's unit", antivirus, stopped("mdatp.service"), Want{}, Warn, "the next boot starts mdatp.service"},
		{"an agent", antivirus, agent(false), Want{}, Warn, "the next boot starts A (unit a.service)"},
		{"an agent of micro-segmentation", segmentation, agent(true), Want{}, Fail, "the next boot starts A (unit a.service)"},
		{"k3s", oldCluster, stopped("k3s.service"), Want{}, Fail, "the next boot starts k3s.service"},
		{"an interrupted installation", oldCluster, stopped("kubelet.service"), Want{}, Pass, "none"},
		{"systemd-sysctl is masked", sysctlOverride, unit("systemd-sysctl.service", "inactive", "masked"), ours, Fail, "the next boot sets no kernel parameter"},
		{"systemd-sysctl", sysctlOverride, unit("systemd-sysctl.service", "active", "static"), ours, Pass, "no file"},
		{"systemd-modules-load is masked", kernelModules, modules, Want{}, Fail, "the next boot loads no module of a file"},
	})
}

// TestGroupsOfUnits: drop-ins for slices and scopes also apply to pods and containers.
func TestGroupsOfUnits(t *testing.T) {
	group := func(unit, section, text string) *facts.Facts {
		f := dropIns(unit, text)
		f.UnitFiles[0].Path, f.UnitFiles[0].Settings[0].Section = "/etc/systemd/system/"+unit+".d/a.conf", section
		return f
	}
	runChecks(t, []checkTest{
		{"CPUs of all services", serviceRules, group("system.slice", "Slice", "AllowedCPUs=0-1"), Want{}, Warn,
			"AllowedCPUs=0-1 for system.slice (the kubelet and the runtime) in /etc/systemd/system/system.slice.d/a.conf line 2"},
		{"memory of all slices", serviceRules, group("slice", "Slice", "MemoryMax=2G"), Want{}, Warn, "MemoryMax=2G for kubepods.slice"},
		{"memory of all slices on EL 8", serviceRules, oldSystemd(group("slice", "Slice", "MemoryMax=2G")), Want{}, Pass, "no drop-in"},
		{"CPU time of all services on EL 8", serviceRules, oldSystemd(group("system.slice", "Slice", "CPUQuota=50%")), Want{}, Warn, "CPUQuota=50%"},
		{"a time for all scopes", serviceRules, group("scope", "Scope", "RuntimeMaxSec=12h"), Want{}, Fail, "systemd ends the containers after this time"},
		{"no time for all scopes", serviceRules, group("scope", "Scope", "RuntimeMaxSec=infinity"), Want{}, Pass, "no drop-in"},
		{"a time for the kubelet", serviceRules, dropIns("kubelet", "RuntimeMaxSec=1d"), Want{}, Warn, "systemd stops the unit after this time"},
		{"no limit", serviceRules, group("system.slice", "Slice", "MemoryMax=infinity"), Want{}, Pass, "no drop-in"},
		{"a setting without an effect", serviceRules, group("slice", "Slice", "PrivateTmp=yes"), Want{}, Pass, "no drop-in"},
	})
}
