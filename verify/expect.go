package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/nodestate"
	"airgap.dev/airgap/verify/result"
)

// expectation reports whether the objects that a rule checks exist. A rule without findings is
// ok only if it checked something: absence is not health.
type expectation struct {
	// missing names the expected objects that do not exist: the rule is unseen. "": all exist.
	missing string
	// nothing is why the cluster may have no such objects, or why it is too soon to tell. Then
	// the rule does not apply. If the user asked for this rule, it is unseen.
	nothing string
	// fix is the advice for missing objects.
	fix string
}

// site has the facts of the caller about the cluster: the objects that must exist.
type site struct {
	nodes     []string            // nodes that must have joined
	absent    []string            // nodes that may be not Ready
	reports   bool                // its hosts send NodeReports
	dataPlane bool                // a pod on each node tests the pod network
	scope     map[string]presence // the only namespaces that may be read; empty: all
}

func (o Options) site() site {
	s := site{nodes: o.Nodes, absent: o.Absent, reports: o.NodeReports, scope: map[string]presence{}}
	s.dataPlane = slices.Contains(o.Workloads, "DaemonSet "+dataplane.Namespace+"/"+dataplane.Name)
	for _, name := range o.Scope {
		s.scope[name] = mayBe
	}
	return s
}

// namespaces returns the namespaces of the scope, sorted.
func (s site) namespaces() []string { return slices.Sorted(maps.Keys(s.scope)) }

// longer is the fix for a run that was too short.
const longer = "run airgap verify again with a longer --timeout"

// absence is a missing thing of a host, and its fix. In fix, HOST stands for the name of the host.
// The zero value means that nothing is missing.
type absence struct{ what, fix string }

// away returns the absent nodes that are not Ready.
func away(v view) []string { return nodestate.Away(v.allNodes(), v.site.absent) }

// each expects something of each host: of the hosts that joined and are not away, and of those that must have joined. It lists
// hosts with the same lack together.
func (v view) each(check func(*corev1.Node) absence) expectation {
	absences, gone := map[absence][]string{}, away(v)
	for _, node := range v.allNodes() {
		if l := check(node); l != (absence{}) && !slices.Contains(gone, node.Name) {
			absences[l] = append(absences[l], node.Name)
		}
	}
	for _, name := range v.site.nodes {
		if v.node(name) == nil {
			l := absence{"not joined", "on HOST: airgap join; if it will not join, on a control-plane host: airgap remove HOST"}
			absences[l] = append(absences[l], name)
		}
	}
	if len(absences) == 0 && len(v.allNodes()) == 0 {
		return expectation{missing: "the cluster has no nodes", fix: "on the first host: airgap status; journalctl -u kubelet"}
	}
	return missingFrom(absences)
}

// needs returns otherwise if a condition is false.
func needs(there bool, otherwise string) string {
	if there {
		return ""
	}
	return otherwise
}

// missingFrom lists the hosts of each lack.
func missingFrom(absences map[absence][]string) expectation {
	var e expectation
	var texts []string
	for _, l := range slices.SortedFunc(maps.Keys(absences), func(a, b absence) int { return strings.Compare(a.what, b.what) }) {
		slices.Sort(absences[l])
		texts = append(texts, l.what+": "+result.Abbreviate(absences[l]))
		if e.fix == "" {
			e.fix = strings.ReplaceAll(l.fix, "HOST", absences[l][0])
		}
	}
	e.missing = strings.Join(texts, "; ")
	return e
}

// joined expects only the nodes.
func joined(v view) expectation { return v.each(func(*corev1.Node) absence { return absence{} }) }

// reporting expects a report from each kubelet: the conditions of a silent kubelet are old or
// unknown.
func reporting(v view) expectation {
	return v.each(func(n *corev1.Node) absence {
		if c, found := nodestate.Ready(n); !found || c.Status == corev1.ConditionUnknown {
			return absence{"the kubelet does not report", "on HOST: journalctl -u kubelet --since -15min"}
		}
		return absence{}
	})
}

// somePods expects a pod in the checked namespaces.
func somePods(of string, judged func(namespace string) bool) func(view) expectation {
	return func(v view) expectation { return v.anyOf("pods", of, judged, pods) }
}

func someWorkloads(of string, judged func(namespace string) bool) func(view) expectation {
	return func(v view) expectation {
		return v.anyOf("workloads", of, judged, daemonSets, deployments, statefulSets, replicaSets)
	}
}

// anyOf expects an object of one of the kinds in the checked namespaces.
func (v view) anyOf(noun, of string, judged func(namespace string) bool, kinds ...kind) expectation {
	for _, k := range kinds {
		if slices.ContainsFunc(v.values(k, cache.NamespaceIndex), judged) {
			return expectation{}
		}
	}
	return expectation{nothing: fmt.Sprintf("no %s %s", noun, of)}
}

// needed turns optional objects into required ones.
func needed(expects func(view) expectation, fix string) func(view) expectation {
	return func(v view) expectation {
		e := expects(v)
		return expectation{missing: e.missing + e.nothing, fix: fix}
	}
}
