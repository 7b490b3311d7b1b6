package verify

import (
	"cmp"
	"slices"
	"time"

	"airgap.dev/airgap/verify/result"
)

// oneEvery is the shortest time between two events of one object of a rule.
const oneEvery = time.Second

// changes turns results into events.
type changes struct {
	objects map[place]*objectState
	healthy bool // the last event was Well
}

// place identifies a finding.
type place struct{ rule, object string }

// objectState is the current and the last reported state of an object.
type objectState struct {
	now, before *Finding // nil: not broken; before is the last reported one
	last        *Finding // the newest finding
	at          time.Time
	moves       int // changes since at
}

func newChanges() *changes { return &changes{objects: map[place]*objectState{}} }

// note records the findings of a rule. It merges findings about the same object.
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
			c.objects[at] = &objectState{}
		}
		c.objects[at].move(f)
	}
	for at, t := range c.objects {
		if at.rule == rule && present[at] == nil {
			t.move(nil)
		}
	}
}

func (t *objectState) move(f *Finding) {
	if (f == nil) != (t.now == nil) || f != nil && f.Saw != t.now.Saw {
		t.moves++
	}
	t.now = f
	if f != nil {
		t.last = f
	}
}

// events returns the events of now. Changes of an object soon after its last event wait and are
// counted. Well is sent when no reported problem is left.
func (c *changes) events(now time.Time, healthy bool) []result.Event {
	var all []result.Event
	for at, t := range c.objects {
		waited := now.Sub(t.at) >= oneEvery
		switch {
		case t.moves > 0 && waited:
			all = append(all, t.event(now))
		case t.moves == 0 && t.now == nil && waited:
			delete(c.objects, at)
		}
		healthy = healthy && t.before == nil && t.moves == 0
	}
	slices.SortFunc(all, func(a, b result.Event) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Object, b.Object))
	})
	if len(all) > 0 {
		c.healthy = false
	}
	if healthy && !c.healthy {
		all = append(all, result.Event{Time: now, Event: result.Healthy})
		c.healthy = true
	}
	return all
}

func (t *objectState) event(now time.Time) result.Event {
	f := t.last
	e := result.Event{Time: now, Rule: f.Rule, Object: f.Object, Saw: f.Saw, Want: f.Want, Fix: f.Fix, Since: &f.Since, LeftOut: t.moves - 1}
	switch {
	case t.now == nil:
		e.Event, e.After = result.Fixed, now.Sub(f.Since)
	case (t.before == nil || t.before.Saw == f.Saw) && f.Blind:
		e.Event = result.Blind
	case t.before == nil || t.before.Saw == f.Saw: // the same finding went away and returned
		e.Event = result.Broke
	default:
		e.Event = result.Changed
	}
	t.before, t.at, t.moves = t.now, now, 0
	return e
}
