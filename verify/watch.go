package verify

import (
	"cmp"
	"slices"
	"time"

	"airgap.dev/airgap/verify/result"
)

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
		case f.Early:
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
func (c *changes) events(now time.Time, well bool) []result.Event {
	var all []result.Event
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
	slices.SortFunc(all, func(a, b result.Event) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Object, b.Object))
	})
	if len(all) > 0 {
		c.well = false
	}
	if well && !c.well {
		all = append(all, result.Event{Time: now, Event: result.Well})
		c.well = true
	}
	return all
}

func (t *told) event(now time.Time) result.Event {
	f := t.last
	e := result.Event{Time: now, Rule: f.Rule, Object: f.Object, Saw: f.Saw, Want: f.Want, Fix: f.Fix, Since: &f.Since, LeftOut: t.moves - 1}
	switch {
	case t.now == nil:
		e.Event, e.After = result.Mended, now.Sub(f.Since)
	case (t.before == nil || t.before.Saw == f.Saw) && f.Blind:
		e.Event = result.Blind
	case t.before == nil || t.before.Saw == f.Saw: // the latter went and came back
		e.Event = result.Broke
	default:
		e.Event = result.Changed
	}
	t.before, t.at, t.moves = t.now, now, 0
	return e
}
