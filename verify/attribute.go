package verify

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/nodestate"
	"airgap.dev/airgap/verify/result"
)

// attribute marks the new findings that are not because of the change. Only findings about workloads
// of the site can have another cause: all others decide.
func (e *engine) attribute(rule string, findings []Finding) {
	if e.options.Elsewhere == nil || !slices.Contains([]string{"pods", "workloads", "jobs", "terminating", "baseline"}, rule) {
		return
	}
	for i := range findings {
		if f := &findings[i]; !f.Known {
			f.Place = placeOf(e.view, f.Object, e.options.Namespaces)
			f.Elsewhere = f.Place != nil && e.options.Elsewhere(*f)
		}
	}
}

// placeOf returns where a workload or pod of the site is, or nil for another object.
func placeOf(v view, object string, system namespaces) *result.Place {
	kind, name, _ := strings.Cut(object, " ")
	namespace, name, namespaced := strings.Cut(name, "/")
	switch {
	case !namespaced || system.has(namespace):
		return nil
	case kind == "Pod":
		if p := get[*keptPod](v, pods, namespace, name); p != nil {
			return &result.Place{Owner: p.ownerName(), Nodes: []string{p.node}}
		}
		return nil
	case !slices.Contains([]string{"DaemonSet", "Deployment", "StatefulSet", "Job"}, kind):
		return nil
	}
	at := &result.Place{Owner: object}
	for _, p := range in[*keptPod](v, pods, namespace) {
		if p.ownerName() == object && (p.problem != nil || kind == "Job") {
			at.Nodes = append(at.Nodes, p.node)
		}
	}
	if w, exists := v.workloadStates()[object]; exists && (len(at.Nodes) == 0 || int(w.Wanted-w.Available) > len(at.Nodes)) {
		at.Nodes = append(at.Nodes, "")
	}
	return at
}

// markLeftOut marks the findings that are only about nodes that are left out as known.
func markLeftOut(leftOut []string, v view, findings []Finding) {
	for i := range findings {
		f := &findings[i]
		at := []string{nodestate.Named(f.Object)}
		if p := placeOf(v, f.Object, nil); p != nil {
			at = p.Nodes
		}
		f.LeftOut = len(at) > 0 && !slices.ContainsFunc(at, func(name string) bool { return !slices.Contains(leftOut, name) })
		f.Known = f.Known || f.LeftOut
	}
}

// excuse returns why a broken rule does not affect the result.
func (r *row) excuse() string {
	if slices.ContainsFunc(r.findings, func(f Finding) bool { return f.Elsewhere }) {
		return "but not because of the changed hosts"
	}
	if slices.ContainsFunc(r.findings, func(f Finding) bool { return f.LeftOut }) {
		return "but only on nodes that are left out or absent"
	}
	return "as in the baseline"
}

// OwnerName returns the name that findings have for the workload of a pod: "Deployment shop/web".
func OwnerName(p *corev1.Pod) string { return keepPod(p).ownerName() }
