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
	if status == Pass {
		return pass("no drop-in takes rights from the kubelet or the runtime")
	}
	return Result{status, strings.Join(found, "\n"), "no such settings for the kubelet and the runtime",
		fmt.Sprintf("write [Service] and %s (empty: systemd's default) to /etc/systemd/system/kubelet.service.d/zz-node.conf and /etc/systemd/system/%s.service.d/zz-node.conf, then run systemctl daemon-reload",
			strings.Join(slices.Compact(slices.Sorted(slices.Values(resets))), ", "), runtime)}
}

// reset is the line that sets a default again. The one of CPUAffinity is systemd's own list of CPUs.
func reset(key string) string {
	if key == "CPUAffinity" {
		return "CPUAffinity=0-N (all CPUs)"
	}
	return key + "="
}
