package verify

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/verify/result"
)

// TestEvents: each step has a time, the results until then, and the expected events.
func TestEvents(t *testing.T) {
	t0 := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	x := func(saw string) []Finding { return []Finding{{Rule: "a", Object: "x", Saw: saw, Since: t0}} }
	type step struct {
		at   time.Duration
		was  [][]Finding // results since the last step; only the last one is current
		want []string
	}
	for name, steps := range map[string][]step{
		"broken, changed, repaired": {
			{0, [][]Finding{nil}, []string{"healthy"}},
			{time.Second, [][]Finding{x("1")}, []string{"broken x: 1"}},
			{2 * time.Second, [][]Finding{x("1")}, nil},
			{3 * time.Second, [][]Finding{x("2")}, []string{"changed x: 2"}},
			{5 * time.Second, [][]Finding{nil}, []string{"fixed x: 2 after 5s", "healthy"}},
			{9 * time.Second, [][]Finding{nil}, nil},
		},
		"two objects": {
			{0, [][]Finding{append(x("1"), Finding{Rule: "a", Object: "y", Saw: "2", Since: t0})}, []string{"broken x: 1", "broken y: 2"}},
			{time.Second, [][]Finding{x("1")}, []string{"fixed y: 2 after 1s"}},
		},
		"two findings of an object": {
			{0, [][]Finding{append(x("1"), x("2")...)}, []string{"broken x: 1; 2"}},
			{time.Second, [][]Finding{x("2")}, []string{"changed x: 2"}},
		},
		"flaps": {
			{0, [][]Finding{x("1")}, []string{"broken x: 1"}},
			{300 * time.Millisecond, [][]Finding{nil, x("1"), nil}, nil},
			{600 * time.Millisecond, [][]Finding{x("1"), nil, x("1")}, nil},
			{time.Second, [][]Finding{x("1")}, []string{"broken x: 1 left out 5"}},
			{1100 * time.Millisecond, [][]Finding{nil}, nil},
			{1900 * time.Millisecond, [][]Finding{nil}, nil},
			{2 * time.Second, [][]Finding{nil}, []string{"fixed x: 1 after 2s", "healthy"}},
		},
		"appeared and disappeared between two steps": {
			{0, [][]Finding{x("1"), nil}, []string{"fixed x: 1 left out 1", "healthy"}},
			{2 * time.Second, [][]Finding{x("2")}, []string{"broken x: 2"}},
		},
		"no answer yet": {
			{0, [][]Finding{{{Rule: "a", Object: "x", Saw: "no answer yet", Early: true}}}, nil},
			{time.Second, [][]Finding{nil}, []string{"healthy"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChanges()
			for _, s := range steps {
				now := t0.Add(s.at)
				for _, findings := range s.was {
					c.note("a", findings)
				}
				if got := brief(c.events(now, len(s.was[len(s.was)-1]) == 0)); !slices.Equal(got, s.want) {
					t.Errorf("after %s: events %q, want %q", s.at, got, s.want)
				}
			}
		})
	}
}

func brief(events []result.Event) []string {
	var all []string
	for _, e := range events {
		line := e.Event
		if e.Object != "" {
			line += " " + e.Object + ": " + e.Saw
		}
		if e.After > 0 {
			line += fmt.Sprintf(" after %s", e.After)
		}
		if e.LeftOut > 0 {
			line += fmt.Sprintf(" left out %d", e.LeftOut)
		}
		all = append(all, line)
	}
	return all
}

// TestChangesForgets: nothing is kept for objects that are gone, because names of pods change every
// day.
func TestChangesForgets(t *testing.T) {
	c, now := newChanges(), time.Now()
	for i := range 100 {
		now = now.Add(oneEvery)
		c.note("a", []Finding{{Rule: "a", Object: fmt.Sprint("Pod ", i)}})
		c.events(now, false)
	}
	if n := len(c.objects); n > 3 {
		t.Errorf("%d objects are kept, only one is broken", n)
	}
}

// TestKindGone: a finding about a kind that the cluster no longer has gets an event that it is gone.
func TestKindGone(t *testing.T) {
	o := Options{}
	o.fill()
	e := newEngine(o, nil)
	e.live = newLive(o)
	v := seen(t, untyped("crd.projectcalico.org/v1", "IPPool", "bad", map[string]any{"ipipMode": "Always"}),
		node("w1", corev1.ConditionTrue), report(t, "w1", *newHealthyCluster().reports["w1"]))
	events := func(at time.Time) []result.Event {
		return slices.DeleteFunc(e.changes.events(at, false), func(got result.Event) bool { return got.Rule != "no-ipip" })
	}
	e.begin(v)
	got := events(time.Now())
	if len(got) != 1 || got[0].Event != result.Broke || got[0].Object != "IPPool bad" {
		t.Fatalf("events %+v", got)
	}
	for _, k := range []kind{calicoPools, felixSettings, nodeReports} {
		delete(v.caches, k)
	}
	e.begin(v)
	got = events(time.Now().Add(2 * oneEvery))
	if len(got) != 1 || got[0].Event != result.Fixed {
		t.Errorf("events %+v", got)
	}
}
