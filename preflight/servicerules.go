package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/unitfile"
)

var serviceRules = Check{
	ID: "service-drop-ins", Title: "systemd's drop-ins leave the node's services their rights", Source: "systemd.exec(5); systemd.unit(5): drop-ins for all services",
	Breaks: "The kubelet and the runtime start with fewer rights: volumes are missing in pods, containers do not start, or programs in them fail.",
	Needs:  []string{"unitFiles"}, Run: judgeServiceRules,
}

func judgeServiceRules(f *facts.Facts, w *Want) Result {
	runtime := w.runtimeUnit()
	units := map[string][]unitfile.Placed{"systemd": unitfile.Order(f.UnitFiles, "Manager", "systemd")}
	for _, unit := range []string{"kubelet", runtime} {
		units[unit] = f.SettingsOf(unit)
	}
	status := Pass
	var found, resets []string
	for _, unit := range []string{"systemd", "kubelet", runtime} {
		for _, r := range unitfile.Restrictions(units[unit]) {
			status = worse(status, map[bool]Status{true: Fail, false: Warn}[r.Severe])
			found = append(found, fmt.Sprintf("%s=%s for %s in %s: %s", r.Key, r.Value, unit, r.At(), r.Why))
			resets = append(resets, reset(r.Key))
		}
	}
	var fix []string
	for _, r := range groupRules(f) {
		status = worse(status, map[bool]Status{true: Fail, false: Warn}[r.Severe])
		found = append(found, fmt.Sprintf("%s=%s for %s in %s: %s", r.Key, r.Value, r.of, r.At(), r.Why))
		fix = append(fix, fmt.Sprintf("remove the line from %s, then run systemctl daemon-reload", r.File.Path))
	}
	if status == Pass {
		return pass("no drop-in takes rights from the kubelet or the runtime")
	}
	if len(resets) > 0 {
		fix = append(fix, fmt.Sprintf("write [Service] and %s (empty: systemd's default) to /etc/systemd/system/kubelet.service.d/zz-node.conf and /etc/systemd/system/%s.service.d/zz-node.conf, then run systemctl daemon-reload",
			strings.Join(slices.Compact(slices.Sorted(slices.Values(resets))), ", "), runtime))
	}
	return Result{status, strings.Join(found, "\n"), "no such settings for the kubelet and the runtime", strings.Join(slices.Compact(fix), "; ")}
}

// groupRule is a setting for a slice or for scopes.
type groupRule struct {
	unitfile.Restriction

	of string
}

// groupRules are the settings of the slices of services and pods, and of the containers' scopes.
func groupRules(f *facts.Facts) []groupRule {
	var rules []groupRule
	for _, g := range []struct{ section, kind, unit, of string }{
		{"Slice", "slice", "system.slice", "system.slice (the kubelet and the runtime)"},
		{"Slice", "slice", "kubepods.slice", "kubepods.slice (all pods)"},
		{"Scope", "scope", "", "all scopes (each container is one)"},
	} {
		for _, r := range unitfile.GroupRestrictions(facts.SettingsOfGroup(f, g.section, g.kind, g.unit)) {
			rules = append(rules, groupRule{r, g.of})
		}
	}
	return rules
}

// reset is the line that sets a default again. The one of CPUAffinity is systemd's own list of CPUs.
func reset(key string) string {
	if key == "CPUAffinity" {
		return "CPUAffinity=0-N (all CPUs)"
	}
	return key + "="
}
