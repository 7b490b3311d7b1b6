package verify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/verify/result"
)

// board holds the last judgement on every rule, and since when all hold.
type board struct {
	ids        []string // in the order of reports
	rows       map[string]*row
	holdsSince time.Time // zero while a rule is broken or was never judged
	lastBroken Finding   // the newest one that has gone
}

type row struct {
	title    string
	asked    bool // for by a user: that it does not apply is that it was not seen
	stays    bool // its findings decide, and nobody waits for their end
	judged   bool
	left     string    // why what the rule is about cannot be seen; "": it can
	unseen   string    // why it cannot hold: objects were not seen; "": they were
	stale    string    // why its last judgement says nothing of now: kinds were not confirmed; "": they were
	doubtful string    // all that was doubted then, also what it was judged without
	nothing  string    // why the cluster may be without what it judges; "": it is not
	fix      string    // what to do about any of these
	since    time.Time // that it cannot be judged
	findings []Finding
	told     string
}

func newBoard() *board { return &board{rows: map[string]*row{}} }

func (b *board) add(id, title string) *row {
	b.ids = append(b.ids, id)
	b.rows[id] = &row{title: title}
	return b.rows[id]
}

// record takes in a judgement made at now. An object that was found before
// keeps the time at which it was first found, unless its rule knows better.
func (b *board) record(id string, findings []Finding, now time.Time) {
	r := b.rows[id]
	since := map[string]time.Time{}
	for _, f := range r.findings {
		since[f.Object] = f.Since
		if !f.Known {
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

// doubt takes back that rules hold, because nobody sees the cluster any
// more. Broken ones keep what was last seen.
func (b *board) doubt() {
	for _, r := range b.rows {
		r.judged = r.judged && len(r.findings) > 0
	}
	b.holdsSince = time.Time{}
}

func (b *board) settle(now time.Time) {
	for _, r := range b.rows {
		if r.blind() != "" || len(r.deciding()) > 0 && !r.stays {
			b.holdsSince = time.Time{}
			return
		}
	}
	if b.holdsSince.IsZero() {
		b.holdsSince = now
	}
}

// apply says why what a rule is about cannot be seen; "": it can.
func (b *board) apply(id, left string) {
	r := b.rows[id]
	if r.left = left; left != "" {
		r.judged, r.findings, r.stale = false, nil, ""
	}
}

func (b *board) applies(id string) bool { return b.rows[id].left == "" }

func (b *board) holds() bool { return !b.holdsSince.IsZero() }

// well says that everything holds now, also what nobody waits for.
func (b *board) well() bool {
	for _, r := range b.rows {
		if len(r.deciding()) > 0 {
			return false
		}
	}
	return b.holds()
}

// judgedAny tells whether a rule applied: beside that the API server answers, which says
// nothing of the cluster.
func (b *board) judgedAny() bool {
	return slices.ContainsFunc(b.ids, func(id string) bool { return id != apiServer && b.rows[id].outcome() != result.LeftOut })
}

// outcomes are those of all rules, in the order of reports.
func (b *board) outcomes() []result.Outcome {
	var all []result.Outcome
	for _, id := range b.ids {
		all = append(all, b.rows[id].outcome())
	}
	return all
}

// tell says what changed since it was last told. How many more findings there are is no
// news by itself, nor that of a rule that held an answer is still to come: while a cluster
// comes up, that changes all the time.
func (b *board) tell(say func(format string, args ...any)) {
	for _, id := range b.ids {
		r := b.rows[id]
		line, more := r.line()
		if r.told == r.held() && r.early() {
			continue
		}
		if line != "" && line != r.told {
			say("%s%s", line, more)
			r.told = line
		}
	}
}

// line is how a rule is, with what was seen first, and how much more there is.
func (r *row) line() (line, more string) {
	switch {
	case !r.judged && r.stale == "":
		return "", ""
	case r.outcome() == result.Known:
		return r.title + ": broken as before", ""
	case r.outcome() == result.Holds:
		return r.held(), ""
	case r.outcome() == result.LeftOut, r.outcome() == result.Unseen:
		return fmt.Sprintf("%s: %s: %s", r.title, r.outcome(), r.why()), ""
	}
	line, more = r.first()
	if r.stays {
		return r.title + ": no: " + line, more
	}
	return r.title + ": not yet: " + line, more
}

func (r *row) held() string { return r.title + ": holds" }

// early says that the rule has findings, and that each only waits for an answer.
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

// deciding are the findings that the baseline did not have. Of what is not seen any more
// none are.
func (r *row) deciding() []Finding {
	if r.stale != "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.findings), func(f Finding) bool { return f.Known })
}

// blind says why the rule could not be judged, "" where it could or need not.
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

// why says why the rule does not hold, or only in part, beside its findings.
func (r *row) why() string { return cmp.Or(r.blind(), r.left, r.nothing) }

// toTell are the findings that decide, and why the rule could not be judged. Of kinds that
// are not confirmed the rule api-server tells.
func (r *row) toTell(id string) []Finding {
	told := r.deciding()
	if why := r.blind(); why != "" {
		told = append(told, Finding{Rule: id, Object: "Rule " + id, Saw: why, Want: "it can be judged", Fix: r.fix, Since: r.since, Blind: true})
	}
	return told
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
		return result.Holds
	}
}
