package verify

import (
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/verify/imagecache"
	"airgap.dev/airgap/verify/result"
)

// rule is one statement about the cluster.
type rule struct {
	id    string // "nodes-ready"
	title string // the desired state: "Nodes are Ready"
	// watches are the kinds that the rule reads.
	watches []kind
	// also are optional kinds, which are watched if the cluster or the namespaces have them. Without
	// read access to one of them, the rule is evaluated without it, but cannot be ok.
	also []kind
	// every is the period of a rule that changes with time alone. Such a rule is not evaluated
	// on events.
	every time.Duration
	in    string // its only namespace; "" for any
	// judge reads only its arguments. Without findings, the rule is ok.
	judge func(view) []Finding
	// expects reports whether the objects that the rule checks exist; nil: judge returns findings
	// about missing objects.
	expects func(view) expectation
	// stays: waiting fixes no finding. The soak window does not wait for this rule, but the result
	// counts it.
	stays bool
}

// Finding is one reason why a rule is not ok.
type Finding = result.Finding

// rules returns all rules in the order of the report: rules that others depend on come first.
func rules(o Options, images *imagecache.Cache, probes []*probed) []rule {
	system := namespaces(o.Namespaces)
	judged := func(string) bool { return true }
	if o.SystemOnly {
		judged = system.has
	}
	list := []rule{
		nodesReady(o.Nodes), nodeLeases(), nodesPressed(), nodesSchedulable(), kubeletVersions(),
		controlPlane(), apiServers(), leaders(), etcdHealthy(), certificates(), diskSpace(), clocks(), timeSynchronized(),
		systemWorkloads(system, o.Workloads).expecting(needed(someWorkloads("in the system namespaces", system.has), "kubectl get daemonsets,deployments -A; airgap status")),
		systemPods(system).expecting(needed(somePods("in the system namespaces", system.has), "kubectl get pods -A; airgap status")),
		jobsDone(judged).expecting(func(v view) expectation { return v.anyOf("Jobs", "in the checked namespaces", judged, jobs) }),
		terminating(judged).expecting(somePods("in the checked namespaces", judged)),
		dns(), dataPlane(), noIPIP(), podNetworkMTU(o.PodLinks), proxyMode(o.ProxyMode),
		webhooks(judged), apiServicesAnswer(judged), joinTokens(),
		reportsFresh(), unitsRun(), programsRun(), cgroupsAgree(), sysctlsStay(), hostNetwork(), hostLinks(), nextBoot(), packagesUnchanged(), imagesPinned(), registriesReached(), gpus(),
	}
	if o.ImageExists != nil {
		list = append(list, runningImages(images.Look))
	}
	for _, p := range probes {
		list = append(list, p.rule())
	}
	if !o.SystemOnly {
		list = append(list,
			otherWorkloads(system).expecting(someWorkloads("outside of the system namespaces", system.hasNot)),
			otherPods(system).expecting(somePods("outside of the system namespaces", system.hasNot)))
	}
	return append(list, asked(o)...)
}

// expecting returns the rule with an expectation.
func (r rule) expecting(expects func(view) expectation) rule {
	r.expects = expects
	return r
}

// kinds returns all kinds of the rule. A NodeReport is dated by the clock of its host, which the
// Lease shows.
func (r rule) kinds() []kind { return slices.Concat(r.watches, r.extraKinds()) }

func (r rule) extraKinds() []kind {
	if slices.Contains(r.watches, nodeReports) {
		return append(slices.Clone(r.also), leases)
	}
	return r.also
}

// within reports whether read access to these namespaces is enough to evaluate the rule. An empty
// scope is the whole cluster.
func (r rule) within(scope []string) bool {
	outside := func(k kind) bool { return !sources[k].namespaced }
	return len(scope) == 0 || (r.in == "" || slices.Contains(scope, r.in)) && !slices.ContainsFunc(r.watches, outside)
}

// leftOut returns why the rule does not apply, or "". It applies if the cluster has each required
// kind, at least one of its optional kinds, and its namespace. Missing NodeReports do not matter
// if the cluster should have them: then the rule is unseen.
func (r rule) leftOut(v view) string {
	if scope := v.site.namespaces(); !r.within(scope) {
		return "it needs more than the namespaces " + strings.Join(scope, ", ")
	}
	var without []string
	there := false
	for _, k := range r.watches {
		switch {
		case v.has(k) || k == nodeReports && v.site.reports:
			there = there || sources[k].optional
		case sources[k].optional:
			without = append(without, string(k))
		default:
			return "the API server does not serve " + string(k)
		}
	}
	if len(without) > 0 && !there {
		return "the cluster does not have " + strings.Join(without, ", ")
	}
	return ""
}
