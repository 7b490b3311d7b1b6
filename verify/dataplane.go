package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/result"
)

func dataPlane() rule {
	return rule{
		id: "data-plane", title: "From every node pods, Services, names and NodePorts answer",
		watches: []kind{pods}, also: []kind{nodes}, in: dataplane.Namespace,
		judge: judgeDataPlane, expects: expectDataPlane,
	}
}

// expectDataPlane expects a pod that runs and is ready on each node of Linux: what one said
// that does not answer itself may be old.
func expectDataPlane(v view) expectation {
	on := map[string]bool{}
	for _, p := range v.probing() {
		on[p.node] = on[p.node] || p.unwell == nil
	}
	const fix = "kubectl -n " + dataplane.Namespace + " get pods -o wide; kubectl -n " + dataplane.Namespace + " describe daemonset " + dataplane.Name
	switch {
	case len(on) == 0 && !v.site.dataPlane:
		return expectation{nothing: "no pods try the pod network: the cluster is not airgap's"}
	case !v.has(nodes): // who may look at this namespace alone does not know them
		return expectation{missing: needs(len(on) > 0, "no pod tries the pod network"), fix: fix}
	}
	return v.each(func(n *corev1.Node) lack {
		if on[n.Name] || n.Labels[corev1.LabelOSStable] == "windows" {
			return lack{}
		}
		return lack{"no pod that tries the pod network runs and is ready", fix}
	})
}

// probing are the pods that try the pod network, as far as they run.
func (v view) probing() []*keptPod {
	return slices.DeleteFunc(in[*keptPod](v, pods, dataplane.Namespace), func(p *keptPod) bool {
		return p.from.Value().app != dataplane.Name || !p.running
	})
}

// judgeDataPlane reads what the pods of the data plane say they tried in vain:
// a finding for each thing that was tried, with the nodes it was tried from.
func judgeDataPlane(v view) []Finding {
	var findings []Finding
	tried := map[dataplane.Failure][]string{} // in vain, from these nodes
	for _, p := range v.probing() {
		switch {
		case p.reach == nil:
			findings = append(findings, Finding{
				Object: p.title("Pod"), Saw: "it has not said yet what answers from " + p.node,
				Want: "its condition " + string(dataplane.Condition), Fix: fmt.Sprintf("kubectl -n %s logs %s", p.namespace, p.name),
			})
		case p.reach.Status != corev1.ConditionTrue && p.unwell == nil:
			for _, f := range dataplane.Parse(p.reach.Message) {
				tried[f] = append(tried[f], p.node)
			}
		}
	}
	for f, from := range tried {
		slices.Sort(from)
		findings = append(findings, Finding{
			Object: f.Target, Saw: f.Saw + " from " + result.Some(from), Want: "an answer from every node", Fix: dataPlaneFix(f.Target),
		})
	}
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Saw, b.Saw)) })
	return findings
}

// dataPlaneFix is where to look first. The words are those of the package
// dataplane.
func dataPlaneFix(target string) string {
	switch {
	case strings.HasSuffix(target, ", 64 KiB"):
		return "small packets pass and large ones do not: network.mtu of airgap.yaml is more than the network carries; airgap preflight --all-hosts measures it"
	case strings.HasPrefix(target, "pod on "):
		return "airgap preflight --all-hosts measures what passes between the hosts; on both: is the tunnel's UDP port open in the firewall?"
	case strings.HasPrefix(target, "name "):
		return "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide; a Service that answers by its address says that only CoreDNS is to blame"
	default:
		return "kubectl -n kube-system logs -l k8s-app=kube-proxy; on that node iptables-save or nft list ruleset: are its rules still there?"
	}
}
