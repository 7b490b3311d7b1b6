// Package result is what airgap verify found: the verdict with its rules and findings, as text,
// HTML, JUnit and metrics, and a baseline to compare the next one with.
package result

import (
	"encoding/json"
	"slices"
	"time"
)

// Soaking is the rule that everything holds through the soak window, which the engine judges.
const Soaking = "soak"

// Outcome is what became of a rule.
type Outcome string

const (
	Holds  Outcome = "holds"
	Broken Outcome = "broken"
	// Known: broken, and it was so in the baseline.
	Known Outcome = "known"
	// Unseen: it could not be judged, for kinds or objects were not seen.
	Unseen Outcome = "unseen"
	// LeftOut: the cluster does not have what the rule is about, or the run was
	// too short to tell.
	LeftOut Outcome = "n/a"
)

// Report is the verdict.
type Report struct {
	OK       bool          `json:"ok"` // everything held through the soak window; of a run that watches: at its end
	About    About         `json:"about"`
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"-"` // written as tookSeconds
	Rules    []RuleResult  `json:"rules"`
	Findings []Finding     `json:"findings"`           // that decide, in the rules' order
	Baseline *Comparison   `json:"baseline,omitempty"` // where there is one
	Counts   Counts        `json:"counts"`
	Kinds    []KindResult  `json:"kinds,omitempty"` // that were watched

	Snapshot *Snapshot         `json:"-"` // nil: the cluster was never seen
	Lasting  []KnownFinding    `json:"-"` // those that a later run may find again
	Missed   map[string]string `json:"-"` // by rule, which objects it expected and did not see
	Logged   int64             `json:"-"` // lines of client-go's that were counted instead of printed
}

// About says which cluster was verified, and by whom. What is not known is "".
type About struct {
	Cluster string `json:"cluster,omitempty"` // the name in airgap.yaml
	Server  string `json:"server,omitempty"`  // the API server's address
	Version string `json:"version,omitempty"` // of Kubernetes: "v1.36.3"
	Program string `json:"program,omitempty"` // version of airgap
	By      string `json:"by,omitempty"`      // USER on HOST
}

// Finding is one reason why a rule does not hold.
type Finding struct {
	Rule   string    `json:"rule"`
	Object string    `json:"object"` // "Node worker1", "Pod kube-system/coredns-x"
	Saw    string    `json:"saw"`
	Want   string    `json:"want"`
	Since  time.Time `json:"since"`         // when the object was first found
	Fix    string    `json:"fix,omitempty"` // what to do or where to look

	Early bool `json:"-"` // nobody has answered yet: neither good news nor bad
	Known bool `json:"-"` // the baseline had it
	Blind bool `json:"-"` // no finding: why the rule could not be judged
}

// RuleResult is one rule's line of the report.
type RuleResult struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	Outcome  Outcome `json:"outcome"`
	Findings int     `json:"findings"`      // how many of them are this rule's
	Why      string  `json:"why,omitempty"` // it is unseen, in part where it is broken, or does not apply
	Fix      string  `json:"fix,omitempty"` // of one that is unseen: what to do
}

// Counts say how much was looked at.
type Counts struct {
	Nodes     int `json:"nodes"`
	Pods      int `json:"pods"`
	Workloads int `json:"workloads"` // DaemonSets, Deployments and StatefulSets
	Images    int `json:"images"`    // different ones that run
}

// KindResult says how the API server confirmed one kind; of several namespaces the worst
// age and the sums.
type KindResult struct {
	Kind     string  `json:"kind"`
	Age      float64 `json:"ageSeconds"` // since the newest list, event or bookmark, in seconds
	Restarts int     `json:"restarts"`   // watches after the first
	Errors   int     `json:"errors"`     // requests that failed, and answers that broke off
	WentBack int     `json:"wentBack"`   // times that resourceVersion went back, and the kind was listed again
}

// MarshalJSON writes the duration in seconds.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	return json.Marshal(struct {
		plain
		TookSeconds float64 `json:"tookSeconds"`
	}{plain(r), r.Took.Seconds()})
}

// Unseen are the rules that could not be judged, and decide as broken ones do.
func (r Report) Unseen() []RuleResult {
	return slices.DeleteFunc(slices.Clone(r.Rules), func(rule RuleResult) bool { return rule.Outcome != Unseen })
}

// NoAnswer is why a rule was not judged at all, of which the rule api-server says more.
const NoAnswer = "the API server gave no complete answer in time"
