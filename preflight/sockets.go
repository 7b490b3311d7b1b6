package preflight

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var portsFree = Check{
	ID: "ports-free", Title: "Ports are free", Source: "kubeadm Port",
	Breaks: "A control-plane component, the kubelet or the registry cannot listen on its port.",
	Needs:  []string{"listening"}, Run: judgePorts,
}

func judgePorts(f *facts.Facts, w *Want) Result {
	var busy, free []string
	for _, p := range w.Ports {
		if w.Managed && !p.Redirected {
			continue // the cluster on this host uses it
		}
		if holder := f.Holder(p); holder != "" {
			busy = append(busy, fmt.Sprintf("%s (%s) is used by %s", p, p.For, holder))
		} else {
			free = append(free, p.String())
		}
	}
	if len(busy) > 0 {
		return Result{Fail, strings.Join(busy, "; "), "free ports", "stop the processes that use them: ss -lntup lists them" + hostPortHint(w.Ports, f)}
	}
	if w.Managed {
		return skipped("the cluster on this host uses them")
	}
	return pass("%s", strings.Join(free, " "))
}

// hostPortHint is for a port that only a test needs.
func hostPortHint(ports []facts.Port, f *facts.Facts) string {
	if slices.ContainsFunc(ports, func(p facts.Port) bool { return p.Redirected && f.Holder(p) != "" }) {
		return "; for the hostPort test alone, set network.hostPortTest: never in airgap.yaml instead: its pods would take the packets of that process"
	}
	return ""
}
