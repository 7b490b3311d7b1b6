package preflight

import (
	"fmt"
	"strings"
)

// PodPath is the way of packets between two network namespaces through this host, tried with
// addresses of the pod subnet before a cluster exists. Package podpath tries it.
type PodPath struct {
	Outcome Outcome
	// Lost are the connections that did not pass: "TCP between pods".
	Lost []string
	// Rules are the rules that dropped the packets, with their chains; none if they are not known.
	Rules []string
}

// passed reports whether all packets passed the host's own rules.
func (p PodPath) passed() bool { return p.Outcome.Done && p.Outcome.Failed == "" && len(p.Lost) == 0 }

var podPath = Check{
	ID: "pod-path", Title: "Packets of pods pass this host", Source: "replicatedhq/embedded-cluster; netfilter: every chain must accept a packet",
	Breaks: "Pods do not reach each other or Services, although every program runs.",
	Run:    judgePodPath,
}

func judgePodPath(f *Facts, w *Want) Result {
	path := f.Asked.PodPath
	switch {
	case w.Managed:
		return skipped("the cluster's own rules apply to its pods: airgap verify tries them")
	case !path.Outcome.Done && path.Outcome.Skipped != "":
		return skipped("not tried: " + path.Outcome.Skipped)
	case !path.Outcome.Done:
		return skipped("not tried: only preflight on the server itself tries it")
	case path.Outcome.Failed != "":
		return Result{Error, "not tried: " + path.Outcome.Failed, "a test that can run", "run as root on the server itself; or try it after the installation with airgap verify, and pass --skip pod-path"}
	case len(path.Lost) > 0:
		found, fix := strings.Join(path.Lost, ", ")+" did not pass", "find the rule with nft monitor trace, and accept the pod subnet before it"
		if len(path.Rules) > 0 {
			found = fmt.Sprintf("%s: %s", found, strings.Join(path.Rules, "; "))
			fix = "accept the pod subnet before this rule, or ask the owner of the rule to do so"
		}
		return Result{Fail, found, "TCP and UDP pass between two addresses of the pod subnet", fix}
	}
	return pass("TCP and UDP pass between two addresses of the pod subnet")
}
