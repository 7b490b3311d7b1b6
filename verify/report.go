package verify

import (
	"cmp"
	"fmt"
	"time"

	"airgap.dev/airgap/verify/result"
)

// report returns the report as of now.
func (e *engine) report(healthy bool, began time.Time) result.Report {
	r := result.Report{About: e.options.About, Began: began.UTC(), Took: time.Since(began), Findings: []Finding{}, Counts: e.counts(), Kinds: e.noted.results(time.Now())}
	r.Logged = e.logged.lines.Load()
	if r.About.Version == "" {
		r.About.Version = e.server
	}
	known, elsewhere, waiting := []Finding{}, []Finding(nil), 0
	for _, id := range e.board.ids {
		row := e.board.rows[id]
		deciding := row.deciding()
		r.Rules = append(r.Rules, row.result(id))
		r.Findings = append(r.Findings, deciding...)
		for _, f := range row.findings {
			switch {
			case f.Known:
				known = append(known, f)
			case f.Elsewhere:
				elsewhere = append(elsewhere, f)
			}
		}
		if !row.stays {
			waiting += len(deciding)
		}
	}
	if waiting+len(r.Unseen()) == 0 {
		r.Findings = append(r.Findings, e.unsettled(healthy, time.Now())...)
	}
	r.OK = healthy && len(r.Findings)+len(r.Unseen()) == 0
	if b := e.options.Baseline; b != nil {
		r.Baseline = &result.Comparison{Taken: b.Taken, Known: known, Elsewhere: elsewhere, Changed: []result.Difference{}}
	}
	return r
}

func (r *row) result(id string) result.RuleResult {
	line := result.RuleResult{ID: id, Title: r.title, Outcome: r.outcome(), Findings: len(r.deciding()), Why: r.why()}
	if line.Outcome == result.Unseen {
		line.Fix = cmp.Or(r.fix, longer)
	}
	return line
}

// last returns the final report, with the snapshot.
func (e *engine) last(healthy bool, began time.Time) result.Report {
	r := e.report(healthy, began)
	if !e.seen || !e.view.listed(snapshotKinds()) {
		return r
	}
	s := e.view.snapshot()
	r.Snapshot, r.KnownFindings, r.Missed = &s, e.lastingFindings(), e.missed()
	if b := e.options.Baseline; b != nil {
		r.Baseline.Changed = result.Differences(b.Snapshot, s)
	}
	return r
}

// unsettled returns why a cluster is not ok although no rule is broken or unseen, or nil.
func (e *engine) unsettled(healthy bool, now time.Time) []Finding {
	f := Finding{Rule: result.SoakRule, Object: "Cluster", Since: now, Want: fmt.Sprintf("all rules are ok for %s", e.options.Soak)}
	switch {
	case !e.board.anyApplied():
		f.Saw, f.Want = "no rule was evaluated: no rule applies to this cluster", "at least one rule that applies"
		f.Fix = "airgap verify --list shows the objects of each rule; choose other rules or namespaces"
	case healthy:
		return nil
	default:
		f.Since = e.board.okSince
		f.Saw = fmt.Sprintf("all rules have been ok for only %s", now.Sub(e.board.okSince).Round(time.Millisecond))
		if last := e.board.lastBroken; last.Rule != "" {
			f.Saw += fmt.Sprintf("; broken before: %s: %s: %s", last.Rule, last.Object, last.Saw)
		}
		f.Fix = longer
	}
	return []Finding{f}
}

func (e *engine) counts() result.Counts {
	if !e.seen {
		return result.Counts{}
	}
	v := e.view
	return result.Counts{
		Nodes:     v.count(nodes),
		Pods:      v.count(pods),
		Workloads: v.count(daemonSets) + v.count(deployments) + v.count(statefulSets),
		Images:    len(v.values(pods, byImage)),
	}
}
