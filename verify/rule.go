package verify

import (
	"slices"
	"time"
)

// rule is one sentence about the cluster that holds or does not.
type rule struct {
	id    string // for programs: "nodes-ready"
	title string // for people, as a statement: "Nodes are Ready"
	// watches are the kinds a change of which may change the answer.
	watches []kind
	// also are kinds that are watched as well, by whoever may see them: without
	// them the rule is judged all the same, and tells less.
	also []kind
	// every is for rules whose answer changes with time alone: judged so often,
	// and not on events.
	every  time.Duration
	always bool   // also where the cluster does not have the kind
	in     string // namespace that it is about; "" for none in particular
	// judge looks at nothing but its arguments. No findings: it holds.
	judge func(view) []Finding
	// expects says whether the objects that it judges are there; nil: it needs none.
	expects func(view) expectation
	// unheard says why there is too little yet to call it well, "" when there is
	// enough. A run does not wait for it, unless the rule was asked for by its id.
	unheard func(view) string
	// stays says that waiting mends no finding: the soak window does not wait
	// for that, the verdict counts it.
	stays bool
}

// Finding is one reason why a rule does not hold.
type Finding struct {
	Rule   string    `json:"rule"`
	Object string    `json:"object"` // "Node worker1", "Pod kube-system/coredns-x"
	Saw    string    `json:"saw"`
	Want   string    `json:"want"`
	Since  time.Time `json:"since"`         // when the object was first found
	Fix    string    `json:"fix,omitempty"` // what to do or where to look

	early bool // nobody has answered yet: neither good news nor bad
	known bool // the baseline had it
}

// rules are all rules, in the order in which they are reported: what others
// depend on comes first.
func rules(o Options, images *imageBook, probes []*probed) []rule {
	system := namespaces(o.Namespaces)
	judged := func(string) bool { return true }
	if o.SystemOnly {
		judged = system.has
	}
	list := []rule{
		nodesReady(o.Nodes), nodeLeases(), nodesPressed(), nodesSchedulable(), kubeletVersions(),
		controlPlane(), apiServers(), leaders(), etcdWhole(), certificates(), diskSpace(), clocks(), timeSynchronized(),
		systemWorkloads(system, o.Workloads), systemPods(system),
		dns(), dataPlane(), noIPIP(), podNetworkMTU(o.PodLinks), proxyMode(o.ProxyMode),
		webhooks(judged), apiServicesAnswer(judged), joinTokens(),
		reportsFresh(o.NodeReports), unitsRun(), programsRun(), cgroupsAgree(), sysctlsStay(), packagesWhole(), imagesPinned(), registriesReached(), gpus(),
	}
	if o.ImageExists != nil {
		list = append(list, runningImages(images.look))
	}
	for _, p := range probes {
		list = append(list, p.rule())
	}
	if !o.SystemOnly {
		list = append(list, otherWorkloads(system), otherPods(system))
	}
	return append(list, asked(o)...)
}

// kinds are all that it looks at.
func (r rule) kinds() []kind { return slices.Concat(r.watches, r.also) }

// within tells whether it can be judged by who may look at these namespaces only, none for
// all: it is about what lies in them.
func (r rule) within(scope []string) bool {
	outside := func(k kind) bool { return !sources[k].namespaced }
	return r.always || len(scope) == 0 || (r.in == "" || slices.Contains(scope, r.in)) && !slices.ContainsFunc(r.watches, outside)
}

// applies tells whether what the rule is about can be seen: each kind that
// every cluster has, one of those that a cluster may do without, and its
// namespace.
func (r rule) applies(v view, scope []string) bool {
	if r.always {
		return true
	}
	if !r.within(scope) {
		return false
	}
	optional, there := false, false
	for _, k := range r.watches {
		switch {
		case sources[k].optional:
			optional, there = true, there || v.has(k)
		case !v.has(k):
			return false
		}
	}
	return !optional || there
}
