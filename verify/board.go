package verify

import (
	"cmp"
	"fmt"
	"slices"
	"time"
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
	judged   bool
	left     bool // out: the cluster does not have what the rule is about
	findings []Finding
	told     string
}

func newBoard() *board { return &board{rows: map[string]*row{}} }

func (b *board) add(id, title string) {
	b.ids = append(b.ids, id)
	b.rows[id] = &row{title: title}
}

// record takes in a judgement made at now. An object that was found before
// keeps the time at which it was first found.
func (b *board) record(id string, findings []Finding, now time.Time) {
	r := b.rows[id]
	since := map[string]time.Time{}
	for _, f := range r.findings {
		since[f.Object] = f.Since
		b.lastBroken = f
	}
	for i := range findings {
		f := &findings[i]
		f.Rule, f.Since = id, now
		if first, was := since[f.Object]; was {
			f.Since = first
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Object, b.Object) })
	r.judged, r.findings = true, findings
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
		if !r.left && (!r.judged || len(r.findings) > 0) {
			b.holdsSince = time.Time{}
			return
		}
	}
	if b.holdsSince.IsZero() {
		b.holdsSince = now
	}
}

// apply says whether a rule is about something that the cluster has.
func (b *board) apply(id string, applies bool) {
	r := b.rows[id]
	r.left = !applies
	if r.left {
		r.judged, r.findings = false, nil
	}
}

func (b *board) applies(id string) bool { return !b.rows[id].left }

func (b *board) holds() bool { return !b.holdsSince.IsZero() }

// tell says what changed since it was last told.
func (b *board) tell(say func(format string, args ...any)) {
	for _, id := range b.ids {
		r := b.rows[id]
		if line := r.line(); line != r.told && line != "" {
			say("%s", line)
			r.told = line
		}
	}
}

func (r *row) line() string {
	switch {
	case !r.judged:
		return ""
	case len(r.findings) == 0:
		return r.title + ": holds"
	}
	f := r.findings[0]
	line := fmt.Sprintf("%s: not yet: %s: %s", r.title, f.Object, f.Saw)
	if more := len(r.findings) - 1; more > 0 {
		line += fmt.Sprintf(" (and %d more)", more)
	}
	return line
}
