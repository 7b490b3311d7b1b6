package preflight

import (
	"fmt"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var portsFree = Check{
	ID: "ports-free", Title: "Ports are free", Source: "kubeadm Port",
	Breaks: "A control-plane component, the kubelet or the registry cannot listen on its port.",
	Needs:  []string{"listening"}, Run: judgePorts,
}

func judgePorts(f *facts.Facts, w *Want) Result {
	if w.Managed {
		return skipped("the cluster on this host uses them")
	}
	var busy, free []string
	for _, p := range w.Ports {
		if holder := f.Holder(p); holder != "" {
			busy = append(busy, fmt.Sprintf("%s (%s) is used by %s", p, p.For, holder))
		} else {
			free = append(free, p.String())
		}
	}
	if len(busy) > 0 {
		return Result{Fail, strings.Join(busy, "; "), "free ports", "stop the processes that use them: ss -lntup lists them"}
	}
	return pass("%s", strings.Join(free, " "))
}
