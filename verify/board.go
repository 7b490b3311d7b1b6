package verify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/verify/result"
)

// board has the last result of each rule, and the time since which all rules are ok.
type board struct {
	ids        []string // in the order of the report
	rows       map[string]*row
	okSince    time.Time // zero while a rule is broken or was never evaluated
	lastBroken Finding   // the newest finding that is gone
}

type row struct {
	title    string
	asked    bool // for by the user: if it does not apply, it is unseen
	stays    bool // its findings decide, but no run waits for their end
	judged   bool
	left     string    // why the rule does not apply; "": it applies
	unseen   string    // why it is unseen: objects are missing; "": none
	stale    string    // why its last result is outdated: kinds are not confirmed; "": they are
	doubtful string    // all doubts at that time, also about optional kinds
	nothing  string    // why the cluster may have no objects for it; "": it has
	fix      string    // how to fix these reasons
	since    time.Time // when it could first not be evaluated
	findings []Finding
	printed  string
}

func newBoard() *board { return &board{rows: map[string]*row{}} }

func (b *board) add(id, title string) *row {
	b.ids = append(b.ids, id)
	b.rows[id] = &row{title: title}
	return b.rows[id]
}

// record stores a result of time now. An object that was found before keeps the time at which
// it was first found, unless the rule sets one.
func (b *board) record(id string, findings []Finding, now time.Time) {
	r := b.rows[id]
	since := map[string]time.Time{}
	for _, f := range r.findings {
		since[f.Object] = f.Since
		if f.Decides() {
			b.lastBroken = f
		}
	}
	for i := range findings {
		f := &findings[i]
		f.Rule = id
		if first, was := since[f.Object]; was && f.Since.IsZero() {
			f.Since = first
		}
		if f.Since.IsZero() {
			f.Since = now
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Object, b.Object) })
	r.judged, r.findings = true, findings
	if r.blind() == "" {
		r.since = time.Time{}
	} else if r.since.IsZero() {
		r.since = now
	}
	b.settle(now)
}

// doubt discards the ok results, because the cluster cannot be seen at the moment. Broken rules
// keep their last findings.
func (b *board) doubt() {
	for _, r := range b.rows {
		r.judged = r.judged && len(r.findings) > 0
	}
	b.okSince = time.Time{}
}

func (b *board) settle(now time.Time) {
	for _, r := range b.rows {
		if r.blind() != "" || len(r.deciding()) > 0 && !r.stays {
			b.okSince = time.Time{}
			return
		}
	}
	if b.okSince.IsZero() {
		b.okSince = now
	}
}

// apply sets why a rule does not apply; "": it applies.
func (b *board) apply(id, left string) {
	r := b.rows[id]
	if r.left = left; left != "" {
		r.judged, r.findings, r.stale = false, nil, ""
	}
}

func (b *board) applies(id string) bool { return b.rows[id].left == "" }

func (b *board) allOK() bool { return !b.okSince.IsZero() }

// healthy reports whether all rules are ok now, including those that no run waits for.
func (b *board) healthy() bool {
	for _, r := range b.rows {
		if len(r.deciding()) > 0 {
			return false
		}
	}
	return b.allOK()
}

// anyApplied reports whether a rule applied. The rule about the API server does not count: it
// says nothing about the cluster.
func (b *board) anyApplied() bool {
	return slices.ContainsFunc(b.ids, func(id string) bool { return id != apiServer && b.rows[id].outcome() != result.LeftOut })
}

// outcomes returns the outcomes of all rules, in the order of the report.
func (b *board) outcomes() []result.Outcome {
	var all []result.Outcome
	for _, id := range b.ids {
		all = append(all, b.rows[id].outcome())
	}
	return all
}

// publish prints the changes since the last call. It skips changes in the number of findings, and
// a rule that was ok and waits for an answer: these change all the time while a cluster starts.
func (b *board) publish(say func(format string, args ...any)) {
	for _, id := range b.ids {
		r := b.rows[id]
		line, more := r.line()
		if r.printed == r.held() && r.early() {
			continue
		}
		if line != "" && line != r.printed {
			say("%s%s", line, more)
			r.printed = line
		}
	}
}

// line returns the state of a rule with its first finding, and the number of other findings.
func (r *row) line() (line, more string) {
	switch {
	case !r.judged && r.stale == "":
		return "", ""
	case r.outcome() == result.Known:
		return r.title + ": broken, " + r.excuse(), ""
	case r.outcome() == result.OK:
		return r.held(), ""
	case r.outcome() == result.LeftOut, r.outcome() == result.Unseen:
		return fmt.Sprintf("%s: %s: %s", r.title, r.outcome(), r.why()), ""
	}
	line, more = r.first()
	if r.stays {
		return r.title + ": broken: " + line, more
	}
	return r.title + ": not yet: " + line, more
}

func (r *row) held() string { return r.title + ": ok" }

// early reports whether the rule has findings that all only wait for an answer.
func (r *row) early() bool {
	found := r.deciding()
	return len(found) > 0 && !slices.ContainsFunc(found, func(f Finding) bool { return !f.Early })
}

func (r *row) first() (line, more string) {
	found := r.deciding()
	if others := len(found) - 1; others > 0 {
		more = fmt.Sprintf(" (and %d more)", others)
	}
	return result.OneLine(found[0].Object + ": " + found[0].Saw), more
}

// deciding returns the findings that affect the result. If the result is outdated, it
// returns none.
func (r *row) deciding() []Finding {
	if r.stale != "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.findings), func(f Finding) bool { return !f.Decides() })
}

// blind returns why the rule could not be evaluated, or "".
func (r *row) blind() string {
	without := cmp.Or(r.left, r.nothing)
	switch {
	case r.stale != "":
		return r.stale
	case r.unseen != "" && r.left == "":
		return r.unseen
	case r.asked && without != "":
		return without
	case !r.judged && r.left == "":
		return result.NoAnswer
	}
	return ""
}

// why returns why the rule is not ok or only partly evaluated, in addition to its findings.
func (r *row) why() string { return cmp.Or(r.blind(), r.left, r.nothing) }

// reportable returns the findings that decide, and a finding if the rule could not be evaluated.
// The rule api-server reports kinds that are not confirmed.
func (r *row) reportable(id string) []Finding {
	all := r.deciding()
	if why := r.blind(); why != "" {
		all = append(all, Finding{Rule: id, Object: "Rule " + id, Saw: why, Want: "the rule can be evaluated", Fix: r.fix, Since: r.since, Blind: true})
	}
	return all
}

func (r *row) outcome() result.Outcome {
	switch {
	case len(r.deciding()) > 0:
		return result.Broken
	case r.blind() != "":
		return result.Unseen
	case len(r.findings) > 0:
		return result.Known
	case r.left != "", r.nothing != "":
		return result.LeftOut
	default:
		return result.OK
	}
}
