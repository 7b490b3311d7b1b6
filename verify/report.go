package verify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

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

	snapshot *Snapshot // nil: the cluster was never seen
	lasting  []KnownFinding
	missed   map[string]string // by rule
	logged   int64             // lines of client-go's that were counted instead of printed
}

// About says which cluster was verified, and by whom. What is not known is "".
type About struct {
	Cluster string `json:"cluster,omitempty"` // the name in airgap.yaml
	Server  string `json:"server,omitempty"`  // the API server's address
	Version string `json:"version,omitempty"` // of Kubernetes: "v1.36.3"
	Program string `json:"program,omitempty"` // version of airgap
	By      string `json:"by,omitempty"`      // USER on HOST
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

// report is the verdict as of now.
func (e *engine) report(well bool, began time.Time) Report {
	r := Report{About: e.options.About, Began: began.UTC(), Took: time.Since(began), Findings: []Finding{}, Counts: e.counts(), Kinds: e.noted.results(time.Now())}
	r.logged = e.logged.lines.Load()
	if r.About.Version == "" {
		r.About.Version = e.server
	}
	known, waiting := []Finding{}, 0
	for _, id := range e.board.ids {
		row := e.board.rows[id]
		deciding := row.deciding()
		r.Rules = append(r.Rules, row.result(id))
		r.Findings = append(r.Findings, deciding...)
		for _, f := range row.findings {
			if f.known {
				known = append(known, f)
			}
		}
		if !row.stays {
			waiting += len(deciding)
		}
	}
	if waiting+len(r.Unseen()) == 0 {
		r.Findings = append(r.Findings, e.unsettled(well, time.Now())...)
	}
	r.OK = well && len(r.Findings)+len(r.Unseen()) == 0
	if b := e.options.Baseline; b != nil {
		r.Baseline = &Comparison{Taken: b.Taken, Known: known, Changed: []Difference{}}
	}
	return r
}

// Unseen are the rules that could not be judged, and decide as broken ones do.
func (r Report) Unseen() []RuleResult {
	return slices.DeleteFunc(slices.Clone(r.Rules), func(rule RuleResult) bool { return rule.Outcome != Unseen })
}

func (r *row) result(id string) RuleResult {
	result := RuleResult{ID: id, Title: r.title, Outcome: r.outcome(), Findings: len(r.deciding()), Why: r.why()}
	if result.Outcome == Unseen {
		result.Fix = cmp.Or(r.fix, longer)
	}
	return result
}

// last is the report with what is looked at once, at the end.
func (e *engine) last(well bool, began time.Time) Report {
	r := e.report(well, began)
	if !e.seen || !e.view.listed(snapshotKinds()) {
		return r
	}
	s := e.view.snapshot()
	r.snapshot, r.lasting, r.missed = &s, e.lasting(), e.missed()
	if b := e.options.Baseline; b != nil {
		r.Baseline.Changed = differences(b.Snapshot, s)
	}
	return r
}

// unsettled says why a cluster of whose rules none is broken or unseen is not called well
// all the same.
func (e *engine) unsettled(well bool, now time.Time) []Finding {
	f := Finding{Rule: soaking, Object: "Cluster", Since: now, Want: fmt.Sprintf("everything holds for %s", e.options.Soak)}
	switch {
	case !e.board.judgedAny():
		f.Saw, f.Want = "nothing was judged: no rule applies to what is there", "at least one rule that does"
		f.Fix = "airgap verify --list says what each rule looks at; ask for other rules or namespaces"
	case well:
		return nil
	default:
		f.Since = e.board.holdsSince
		f.Saw = fmt.Sprintf("it has held for %s only", now.Sub(e.board.holdsSince).Round(time.Millisecond))
		if last := e.board.lastBroken; last.Rule != "" {
			f.Saw += fmt.Sprintf("; broken before: %s: %s: %s", last.Rule, last.Object, last.Saw)
		}
		f.Fix = longer
	}
	return []Finding{f}
}

func (e *engine) counts() Counts {
	if !e.seen {
		return Counts{}
	}
	v := e.view
	return Counts{
		Nodes:     v.count(nodes),
		Pods:      v.count(pods),
		Workloads: v.count(daemonSets) + v.count(deployments) + v.count(statefulSets),
		Images:    len(v.values(pods, byImage)),
	}
}
