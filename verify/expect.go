package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/result"
)

// expectation says whether the objects that a rule judges are there. A rule without
// findings holds only if it looked at something: absence is not health.
type expectation struct {
	// missing says which objects should be there and are not: the rule is unseen. "" when
	// all are.
	missing string
	// nothing says why the cluster may be without any of them, or why it is too soon to
	// tell: the rule does not apply, or, where a user asked for this very rule, is unseen.
	nothing string
	// fix is what to do where something is missing.
	fix string
}

// site holds the caller's knowledge of the cluster: the objects that have to be there.
type site struct {
	nodes     []string            // that must have joined
	reports   bool                // its hosts report what only they know
	dataPlane bool                // a pod on each node tries the pod network
	scope     map[string]presence // the only namespaces that may be looked at; none: all
}

func (o Options) site() site {
	s := site{nodes: o.Nodes, reports: o.NodeReports, scope: map[string]presence{}}
	s.dataPlane = slices.Contains(o.Workloads, "DaemonSet "+dataplane.Namespace+"/"+dataplane.Name)
	for _, name := range o.Scope {
		s.scope[name] = mayBe
	}
	return s
}

// namespaces are those of the scope, sorted.
func (s site) namespaces() []string { return slices.Sorted(maps.Keys(s.scope)) }

// longer is what to do where a run was too short.
const longer = "run airgap verify again, with a longer --timeout"

// lack is what a host lacks, and what to do about it: HOST stands for its name. The zero
// value is nothing.
type lack struct{ what, fix string }

// each expects something of each host: of those that joined and of those that must
// have. Hosts that lack the same are named together.
func (v view) each(lacking func(*corev1.Node) lack) expectation {
	lacks := map[lack][]string{}
	for _, node := range v.allNodes() {
		if l := lacking(node); l != (lack{}) {
			lacks[l] = append(lacks[l], node.Name)
		}
	}
	for _, name := range v.site.nodes {
		if v.node(name) == nil {
			l := lack{"not joined", "on HOST: airgap join; where it is not to come, on a control-plane host: airgap remove HOST"}
			lacks[l] = append(lacks[l], name)
		}
	}
	if len(lacks) == 0 && len(v.allNodes()) == 0 {
		return expectation{missing: "the cluster has no nodes", fix: "on the first host: airgap status; journalctl -u kubelet"}
	}
	return lacked(lacks)
}

// needs gives the reason where nothing is there.
func needs(there bool, otherwise string) string {
	if there {
		return ""
	}
	return otherwise
}

// lacked names who lacks what.
func lacked(lacks map[lack][]string) expectation {
	var e expectation
	var texts []string
	for _, l := range slices.SortedFunc(maps.Keys(lacks), func(a, b lack) int { return strings.Compare(a.what, b.what) }) {
		slices.Sort(lacks[l])
		texts = append(texts, l.what+": "+result.Some(lacks[l]))
		if e.fix == "" {
			e.fix = strings.ReplaceAll(l.fix, "HOST", lacks[l][0])
		}
	}
	e.missing = strings.Join(texts, "; ")
	return e
}

// joined expects no more than the nodes.
func joined(v view) expectation { return v.each(func(*corev1.Node) lack { return lack{} }) }

// reporting expects that each kubelet says how its node is: of one that is silent, the
// conditions are old or unknown.
func reporting(v view) expectation {
	return v.each(func(n *corev1.Node) lack {
		if c, found := readyOf(n); !found || c.Status == corev1.ConditionUnknown {
			return lack{"the kubelet does not report", "on HOST: journalctl -u kubelet --since -15min"}
		}
		return lack{}
	})
}

// somePods expects a pod in the namespaces that are judged.
func somePods(of string, judged func(namespace string) bool) func(view) expectation {
	return func(v view) expectation { return v.anyOf("pod", of, judged, pods) }
}

func someWorkloads(of string, judged func(namespace string) bool) func(view) expectation {
	return func(v view) expectation {
		return v.anyOf("workload", of, judged, daemonSets, deployments, statefulSets, replicaSets)
	}
}

// anyOf expects an object of one of the kinds in the namespaces that are judged.
func (v view) anyOf(noun, of string, judged func(namespace string) bool, kinds ...kind) expectation {
	for _, k := range kinds {
		if slices.ContainsFunc(v.values(k, cache.NamespaceIndex), judged) {
			return expectation{}
		}
	}
	return expectation{nothing: fmt.Sprintf("there is no %s %s", noun, of)}
}

// needed makes of objects that a cluster may be without those that each must have.
func needed(expects func(view) expectation, fix string) func(view) expectation {
	return func(v view) expectation {
		e := expects(v)
		return expectation{missing: e.missing + e.nothing, fix: fix}
	}
}
