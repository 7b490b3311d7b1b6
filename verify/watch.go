package verify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// What an Event tells.
const (
	Broke   = "broken"  // a rule got a finding
	Blind   = "unseen"  // a rule cannot be judged any more, or yet
	Changed = "changed" // a finding says something else
	Mended  = "mended"  // a finding is gone
	Well    = "well"    // nothing is broken or unseen, any more or yet
	Verdict = "verdict" // the last event of a run: how things stand
)

// Event is one change that a run which watches tells. A lost API server is a
// finding of the rule api-server.
type Event struct {
	Time   time.Time `json:"time"`
	Event  string    `json:"event"`
	Rule   string    `json:"rule,omitempty"`
	Object string    `json:"object,omitempty"`
	Saw    string    `json:"saw,omitempty"` // of a mended one: what was seen last
	Want   string    `json:"want,omitempty"`
	Fix    string    `json:"fix,omitempty"`
	// Since is when the object was first found.
	Since *time.Time `json:"since,omitempty"`
	// After is how long a mended one was broken.
	After time.Duration `json:"-"` // written as afterSeconds
	// LeftOut counts changes of this object since it was last told of, that
	// followed each other too fast to be told.
	LeftOut int     `json:"leftOut,omitempty"`
	Report  *Report `json:"report,omitempty"` // of the verdict
}

// MarshalJSON writes the duration in seconds.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	return json.Marshal(struct {
		plain
		AfterSeconds float64 `json:"afterSeconds,omitempty"`
	}{plain(e), e.After.Seconds()})
}

// WriteText writes the event as a line.
func (e Event) WriteText(w io.Writer) error {
	_, err := fmt.Fprintln(w, e.String())
	return err
}

// longest is how many characters of what was seen a line has at most.
const longest = 300

func (e Event) String() string {
	text := "everything holds"
	switch e.Event {
	case Well:
	case Mended:
		text = fmt.Sprintf("%s: %s, after %s", e.Rule, e.Object, e.After.Round(100*time.Millisecond))
	default:
		saw := []rune(oneLine(e.Saw))
		if len(saw) > longest {
			saw = append(saw[:longest], '…')
		}
		text = fmt.Sprintf("%s: %s: %s; want: %s", e.Rule, e.Object, string(saw), e.Want)
		if e.Fix != "" {
			text += "; fix: " + e.Fix
		}
	}
	if e.LeftOut > 0 {
		text += fmt.Sprintf(" (%s left out)", plural(e.LeftOut, "change"))
	}
	return fmt.Sprintf("%s %-7s %s", e.Time.Format(time.TimeOnly), e.Event, oneLine(text))
}

// oneEvery is how often one object of a rule is told of at most.
const oneEvery = time.Second

// changes turns judgements into events.
type changes struct {
	objects map[place]*told
	well    bool // that was the last thing told
}

// place is where a finding is.
type place struct{ rule, object string }

// told is what is so, and what was last said of it.
type told struct {
	now, before *Finding // nil: nothing is broken; before is what was said
	last        *Finding // the newest that there was
	at          time.Time
	moves       int // since at
}

func newChanges() *changes { return &changes{objects: map[place]*told{}} }

// note takes in the findings of a rule. Several of one object are one.
func (c *changes) note(rule string, findings []Finding) {
	present := map[place]*Finding{}
	for _, f := range findings {
		at := place{rule, f.Object}
		switch first, more := present[at]; {
		case f.early:
		case more:
			first.Saw += "; " + f.Saw
		default:
			present[at] = &f
		}
	}
	for at, f := range present {
		if c.objects[at] == nil {
			c.objects[at] = &told{}
		}
		c.objects[at].move(f)
	}
	for at, t := range c.objects {
		if at.rule == rule && present[at] == nil {
			t.move(nil)
		}
	}
}

func (t *told) move(f *Finding) {
	if (f == nil) != (t.now == nil) || f != nil && f.Saw != t.now.Saw {
		t.moves++
	}
	t.now = f
	if f != nil {
		t.last = f
	}
}

// events are what is to be told now. An object of which something was just
// told has to wait, and its changes are counted. That everything holds is told
// when nothing is left that was told to be broken.
func (c *changes) events(now time.Time, well bool) []Event {
	var all []Event
	for at, t := range c.objects {
		waited := now.Sub(t.at) >= oneEvery
		switch {
		case t.moves > 0 && waited:
			all = append(all, t.event(now))
		case t.moves == 0 && t.now == nil && waited:
			delete(c.objects, at)
		}
		well = well && t.before == nil && t.moves == 0
	}
	slices.SortFunc(all, func(a, b Event) int { return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Object, b.Object)) })
	if len(all) > 0 {
		c.well = false
	}
	if well && !c.well {
		all = append(all, Event{Time: now, Event: Well})
		c.well = true
	}
	return all
}

func (t *told) event(now time.Time) Event {
	f := t.last
	e := Event{Time: now, Rule: f.Rule, Object: f.Object, Saw: f.Saw, Want: f.Want, Fix: f.Fix, Since: &f.Since, LeftOut: t.moves - 1}
	switch {
	case t.now == nil:
		e.Event, e.After = Mended, now.Sub(f.Since)
	case (t.before == nil || t.before.Saw == f.Saw) && f.blind:
		e.Event = Blind
	case t.before == nil || t.before.Saw == f.Saw: // the latter went and came back
		e.Event = Broke
	default:
		e.Event = Changed
	}
	t.before, t.at, t.moves = t.now, now, 0
	return e
}
