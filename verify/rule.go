package verify

import (
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/verify/imagebook"
	"airgap.dev/airgap/verify/result"
)

// rule is one sentence about the cluster that holds or does not.
type rule struct {
	id    string // for programs: "nodes-ready"
	title string // for people, as a statement: "Nodes are Ready"
	// watches are the kinds a change of which may change the answer.
	watches []kind
	// also are kinds that are watched as well, where the cluster or the namespaces that are
	// looked at have them. Who may not read one of these gets what the rule finds without
	// it, and never that it holds.
	also []kind
	// every is for rules whose answer changes with time alone: judged so often,
	// and not on events.
	every time.Duration
	in    string // namespace that it is about; "" for none in particular
	// judge looks at nothing but its arguments. No findings: it holds.
	judge func(view) []Finding
	// expects says whether the objects that it judges are there; nil: judge itself finds
	// where they are not.
	expects func(view) expectation
	// stays says that waiting mends no finding: the soak window does not wait
	// for that, the verdict counts it.
	stays bool
}

// Finding is one reason why a rule does not hold.
type Finding = result.Finding

// rules are all rules, in the order in which they are reported: what others
// depend on comes first.
func rules(o Options, images *imagebook.Book, probes []*probed) []rule {
	system := namespaces(o.Namespaces)
	judged := func(string) bool { return true }
	if o.SystemOnly {
		judged = system.has
	}
	list := []rule{
		nodesReady(o.Nodes), nodeLeases(), nodesPressed(), nodesSchedulable(), kubeletVersions(),
		controlPlane(), apiServers(), leaders(), etcdWhole(), certificates(), diskSpace(), clocks(), timeSynchronized(),
		systemWorkloads(system, o.Workloads).expecting(needed(someWorkloads("of the system", system.has), "kubectl get daemonsets,deployments -A; airgap status")),
		systemPods(system).expecting(needed(somePods("of the system", system.has), "kubectl get pods -A; airgap status")),
		jobsDone(judged).expecting(func(v view) expectation { return v.anyOf("Job", "in the namespaces that are judged", judged, jobs) }),
		terminating(judged).expecting(somePods("in the namespaces that are judged", judged)),
		dns(), dataPlane(), noIPIP(), podNetworkMTU(o.PodLinks), proxyMode(o.ProxyMode),
		webhooks(judged), apiServicesAnswer(judged), joinTokens(),
		reportsFresh(), unitsRun(), programsRun(), cgroupsAgree(), sysctlsStay(), packagesWhole(), imagesPinned(), registriesReached(), gpus(),
	}
	if o.ImageExists != nil {
		list = append(list, runningImages(images.Look))
	}
	for _, p := range probes {
		list = append(list, p.rule())
	}
	if !o.SystemOnly {
		list = append(list,
			otherWorkloads(system).expecting(someWorkloads("beside the system's", system.hasNot)),
			otherPods(system).expecting(somePods("beside the system's", system.hasNot)))
	}
	return append(list, asked(o)...)
}

// expecting is the rule with what it expects.
func (r rule) expecting(expects func(view) expectation) rule {
	r.expects = expects
	return r
}

// kinds are all that it looks at. A NodeReport is dated by the clock of its host, of which the
// lease tells.
func (r rule) kinds() []kind { return slices.Concat(r.watches, r.besides()) }

func (r rule) besides() []kind {
	if slices.Contains(r.watches, nodeReports) {
		return append(slices.Clone(r.also), leases)
	}
	return r.also
}

// within tells whether it can be judged by who may look at these namespaces only, none for
// all: it is about what lies in them.
func (r rule) within(scope []string) bool {
	outside := func(k kind) bool { return !sources[k].namespaced }
	return len(scope) == 0 || (r.in == "" || slices.Contains(scope, r.in)) && !slices.ContainsFunc(r.watches, outside)
}

// leftOut says why what the rule is about cannot be seen, "" where it can: each kind that
// every cluster has, one of those that a cluster may do without, and its namespace. Reports
// of hosts are missed where there should be some.
func (r rule) leftOut(v view) string {
	if scope := v.site.namespaces(); !r.within(scope) {
		return "it is about more than is in " + strings.Join(scope, ", ")
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
			return "the API server does not have " + string(k)
		}
	}
	if len(without) > 0 && !there {
		return "the cluster does not have " + strings.Join(without, ", ")
	}
	return ""
}
