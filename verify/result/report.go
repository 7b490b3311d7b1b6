// Package result has the report of airgap verify with its rules and findings. It writes the report
// as text, HTML, JUnit and metrics, and reads and writes baselines.
package result

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"
)

// SoakRule is the rule that all others stay ok for the soak window. The engine judges it.
const SoakRule = "soak"

// Outcome is the result of a rule.
type Outcome string

const (
	OK     Outcome = "ok"
	Broken Outcome = "broken"
	// Known: broken, as in the baseline, not because of the hosts that were changed, or only on nodes that are left out.
	Known Outcome = "known"
	// Unseen: it could not be judged because kinds or objects were not seen.
	Unseen Outcome = "unseen"
	// LeftOut: the rule does not apply to the cluster, or the run was too short for it.
	LeftOut Outcome = "n/a"
)

// Report is the result of a run.
type Report struct {
	OK       bool          `json:"ok"` // all rules were ok for the soak window; with --watch: at the end of the run
	About    About         `json:"about"`
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"-"` // written as tookSeconds
	Rules    []RuleResult  `json:"rules"`
	Findings []Finding     `json:"findings"`           // those that decide, in the order of the rules
	Baseline *Comparison   `json:"baseline,omitempty"` // nil without a baseline
	Counts   Counts        `json:"counts"`
	Kinds    []KindResult  `json:"kinds,omitempty"` // the watched kinds

	Snapshot      *Snapshot         `json:"-"` // nil: no complete lists were read
	KnownFindings []KnownFinding    `json:"-"` // findings that a later run may have again
	Missed        map[string]string `json:"-"` // expected objects that were not seen, by rule
	Logged        int64             `json:"-"` // log lines of client-go that were counted instead of printed
}

// About has the verified cluster and the user. An unknown value is "".
type About struct {
	Cluster string `json:"cluster,omitempty"` // the name in airgap.yaml
	Server  string `json:"server,omitempty"`  // the API server's address
	Version string `json:"version,omitempty"` // of Kubernetes: "v1.36.3"
	Program string `json:"program,omitempty"` // version of airgap
	By      string `json:"by,omitempty"`      // USER on HOST

	Notes []string `json:"notes,omitempty"` // what the rules leave out
}

// Finding is one reason why a rule is broken.
type Finding struct {
	Rule   string    `json:"rule"`
	Object string    `json:"object"` // "Node worker1", "Pod kube-system/coredns-x"
	Saw    string    `json:"saw"`
	Want   string    `json:"want"`
	Since  time.Time `json:"since"`         // when the object was first found
	Fix    string    `json:"fix,omitempty"` // a command or an instruction

	Early     bool   `json:"-"` // no answer yet: the state is unknown
	Known     bool   `json:"-"` // the baseline has it
	LeftOut   bool   `json:"-"` // only about nodes that are left out or absent
	Blind     bool   `json:"-"` // not a finding, but why the rule could not be judged
	Place     *Place `json:"-"` // nil if it is not about a workload of the site, or was not attributed
	Elsewhere bool   `json:"-"` // not because of the hosts that were changed
}

// Place is where a finding about a workload of the site is.
type Place struct {
	Owner string   // "Deployment shop/web"
	Nodes []string // of the pods that do not work; "" for a pod on no node, or one that does not exist
}

// Decides reports whether the finding affects the result.
func (f Finding) Decides() bool { return !f.Known && !f.Elsewhere }

var numbered = regexp.MustCompile(`v?\d[\w.:-]*`)

// RequiredState returns the required state without its numbers: a version, a count or a time may have
// changed since the baseline.
func (f Finding) RequiredState() string { return numbered.ReplaceAllString(f.Want, "#") }

// RuleResult is the line of one rule in the report.
type RuleResult struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	Outcome  Outcome `json:"outcome"`
	Findings int     `json:"findings"`      // number of findings of this rule
	Why      string  `json:"why,omitempty"` // why it is unseen (in part, if it is broken) or does not apply
	Fix      string  `json:"fix,omitempty"` // the fix if it is unseen
}

// Counts are the numbers of observed objects.
type Counts struct {
	Nodes     int `json:"nodes"`
	Pods      int `json:"pods"`
	Workloads int `json:"workloads"` // DaemonSets, Deployments and StatefulSets
	Images    int `json:"images"`    // different images of running containers
}

// KindResult has how the API server confirmed one kind. With several namespaces, Age is the
// greatest and the others are sums.
type KindResult struct {
	Kind     string  `json:"kind"`
	Age      float64 `json:"ageSeconds"` // since the last list, event or bookmark
	Restarts int     `json:"restarts"`   // watches after the first one
	Errors   int     `json:"errors"`     // failed requests and interrupted answers
	WentBack int     `json:"wentBack"`   // times that resourceVersion decreased and the kind was listed again
}

// MarshalJSON writes the duration in seconds.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	return json.Marshal(struct {
		plain
		TookSeconds float64 `json:"tookSeconds"`
	}{plain(r), r.Took.Seconds()})
}

// Unseen returns the rules that could not be judged. They affect the result like broken rules.
func (r Report) Unseen() []RuleResult {
	return slices.DeleteFunc(slices.Clone(r.Rules), func(rule RuleResult) bool { return rule.Outcome != Unseen })
}

// NoAnswer is why a rule was never judged. The rule api-server has the details.
const NoAnswer = "the API server gave no complete answer in time"
