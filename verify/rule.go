package verify

import "time"

// kind is one sort of object that is watched.
type kind string

const (
	nodes       kind = "nodes"
	pods        kind = "pods"
	daemonSets  kind = "daemonsets"
	deployments kind = "deployments"
)

// rule is one sentence about the cluster that holds or does not.
type rule struct {
	id    string // for programs: "nodes-ready"
	title string // for people, as a statement: "Nodes are Ready"
	// watches are the kinds a change of which may change the answer.
	watches []kind
	// judge looks at nothing but its arguments. No findings: it holds.
	judge func(view) []Finding
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
	all := []rule{
		nodesReady(o.Nodes),
		controlPlane(),
		systemWorkloads(o.Namespaces, o.Workloads),
		systemPods(o.Namespaces),
		dataPlane(),
	}
	if o.ImageExists != nil {
		all = append(all, runningImages(images.look))
	}
	for _, p := range probes {
		all = append(all, p.rule())
	}
	return append(all, asked(o)...)
}
