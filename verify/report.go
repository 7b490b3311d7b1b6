package verify

import (
	"encoding/json"
	"fmt"
	"time"
)

// Outcome is what became of a rule.
type Outcome string

const (
	Holds  Outcome = "holds"
	Broken Outcome = "broken"
	// Unseen: it could not be judged, or not since the API server was lost.
	Unseen Outcome = "unseen"
	// LeftOut: the cluster does not have what the rule is about.
	LeftOut Outcome = "left out"
)

// Report is the verdict.
type Report struct {
	OK       bool          `json:"ok"` // everything held through the soak window
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"-"` // written as tookSeconds
	Rules    []RuleResult  `json:"rules"`
	Findings []Finding     `json:"findings"` // in the rules' order
	Counts   Counts        `json:"counts"`
}

// RuleResult is one rule's line of the report.
type RuleResult struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	Outcome  Outcome `json:"outcome"`
	Findings int     `json:"findings"` // how many of them are this rule's
}

// Counts say how much was looked at.
type Counts struct {
	Nodes     int `json:"nodes"`
	Pods      int `json:"pods"`
	Workloads int `json:"workloads"` // DaemonSets, Deployments and StatefulSets
	Images    int `json:"images"`    // different ones that run
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
func (e *engine) report(soaked bool, began time.Time) Report {
	r := Report{OK: soaked, Began: began.UTC(), Took: time.Since(began), Findings: []Finding{}, Counts: e.counts()}
	for _, id := range e.board.ids {
		row := e.board.rows[id]
		r.Rules = append(r.Rules, RuleResult{id, row.title, row.outcome(), len(row.findings)})
		r.Findings = append(r.Findings, row.findings...)
	}
	if !soaked && len(r.Findings) == 0 {
		f := e.unsettled(time.Now())
		r.Findings = append(r.Findings, f)
	}
	return r
}

func (r *row) outcome() Outcome {
	switch {
	case r.left:
		return LeftOut
	case len(r.findings) > 0:
		return Broken
	case r.judged:
		return Holds
	default:
		return Unseen
	}
}

// unsettled says why a cluster without a broken rule is not called well.
func (e *engine) unsettled(now time.Time) Finding {
	f := Finding{Rule: soaking, Object: "Cluster", Since: now, Want: fmt.Sprintf("everything holds for %s", e.options.Soak)}
	if !e.board.holds() {
		f.Saw = "the API server gave no complete answer in time"
		return f
	}
	f.Since = e.board.holdsSince
	f.Saw = fmt.Sprintf("it has held for %s only", now.Sub(e.board.holdsSince).Round(time.Millisecond))
	if last := e.board.lastBroken; last.Rule != "" {
		f.Saw += fmt.Sprintf("; broken before: %s: %s: %s", last.Rule, last.Object, last.Saw)
	}
	f.Fix = "run airgap verify again, with a longer --timeout"
	return f
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
