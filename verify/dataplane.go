package verify

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/result"
)

func dataPlane() rule {
	return rule{
		id: "data-plane", title: "Pods, Services, DNS names, NodePorts and host ports answer from every node",
		watches: []kind{pods}, also: []kind{nodes}, in: dataplane.Namespace,
		judge: judgeDataPlane, expects: expectDataPlane,
	}
}

// expectDataPlane expects a ready pod on each Linux node: the last result of a pod that is not
// ready may be old.
func expectDataPlane(v view) expectation {
	on := map[string]bool{}
	for _, p := range v.probing() {
		on[p.node] = on[p.node] || p.problem == nil
	}
	const fix = "kubectl -n " + dataplane.Namespace + " get pods -o wide; kubectl -n " + dataplane.Namespace + " describe daemonset " + dataplane.Name
	switch {
	case len(on) == 0 && !v.site.dataPlane:
		return expectation{nothing: "no pods test the pod network: airgap did not install this cluster"}
	case !v.has(nodes): // a user of only this namespace cannot read them
		return expectation{missing: needs(len(on) > 0, "no pod tests the pod network"), fix: fix}
	}
	return v.each(func(n *corev1.Node) absence {
		if on[n.Name] || n.Labels[corev1.LabelOSStable] == "windows" {
			return absence{}
		}
		return absence{"no pod that tests the pod network is running and ready", fix}
	})
}

// probing returns the running pods that test the pod network.
func (v view) probing() []*keptPod {
	return slices.DeleteFunc(in[*keptPod](v, pods, dataplane.Namespace), func(p *keptPod) bool {
		return p.from.Value().app != dataplane.Name || !p.running
	})
}

// judgeDataPlane reads the failed tests of the data-plane pods. It returns one finding for each
// target, with the nodes from which it failed.
func judgeDataPlane(v view) []Finding {
	var findings []Finding
	tried := map[dataplane.Failure][]string{} // failed from these nodes
	for _, p := range v.probing() {
		switch {
		case p.reach == nil:
			findings = append(findings, Finding{
				Object: p.title("Pod"), Saw: "it has not reported yet which connections work from " + p.node,
				Want: "the condition " + string(dataplane.Condition), Fix: fmt.Sprintf("kubectl -n %s logs %s", p.namespace, p.name),
			})
		case p.reach.Status != corev1.ConditionTrue && p.problem == nil:
			for _, f := range dataplane.Parse(p.reach.Message) {
				tried[f] = append(tried[f], p.node)
			}
		}
	}
	for _, r := range dataplane.Results(tried, result.Abbreviate) {
		findings = append(findings, Finding{Object: r.Target, Saw: r.Saw, Want: r.Want, Fix: r.Fix})
	}
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Saw, b.Saw)) })
	return findings
}
