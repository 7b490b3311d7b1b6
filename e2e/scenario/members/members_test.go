package members

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestBears: a quorum of those who vote has to be well, and an etcd that does not answer
// proves nothing.
func TestBears(t *testing.T) {
	const well, sick, learner = `{"well": true}`, `{"well": false}`, `{"learner": true, "well": false}`
	for members, want := range map[string]bool{
		"null":                                   false,
		"[]":                                     false,
		list(learner):                            false,
		list(well):                               true,
		list(sick):                               false,
		list(well, learner):                      true,
		list(well, sick):                         false,
		list(well, well, sick):                   true,
		list(well, sick, sick):                   false,
		list(well, well, well, sick):             true,
		list(well, well, sick, sick):             false,
		list(well, well, well, sick, sick):       true,
		list(well, well, sick, learner, learner): true,
	} {
		var l sight
		if err := json.Unmarshal([]byte(`{"at": 1, "api": true, "members": `+members+`}`), &l); err != nil {
			t.Fatal(err)
		}
		if l.bears() != want {
			t.Errorf("%s: %t, want %t", members, !want, want)
		}
	}
}

func list(members ...string) string { return "[" + strings.Join(members, ", ") + "]" }

// TestSpells: from the first look that shows something to the first one that does not; the
// longest counts, also one that has no end.
func TestSpells(t *testing.T) {
	const well, sick, silent = `[{"well": true}]`, `[{"well": false}]`, `null`
	for name, test := range map[string]struct {
		members    []string // one look a second
		api        string   // "+" or "-" for each
		away, sick float64  // seconds
	}{
		"all well":           {[]string{well, well, well}, "+++", 0, 0},
		"sick once":          {[]string{well, sick, well}, "+++", 0, 1},
		"no answer of etcd":  {[]string{well, silent, silent, well}, "++++", 0, 2},
		"sick, then silent":  {[]string{sick, silent, well}, "+++", 0, 2},
		"the longest of two": {[]string{sick, well, silent, silent, silent, well}, "++++++", 0, 3},
		"without an end":     {[]string{well, silent, silent, silent}, "++++", 0, 2},
		"the API alone":      {[]string{well, well, well, well}, "+--+", 2, 0},
	} {
		var text strings.Builder
		for i, members := range test.members {
			fmt.Fprintf(&text, "{\"at\": %d, \"api\": %t, \"members\": %s}\n", 1000+i, test.api[i] == '+', members)
		}
		looks, away, sick, err := spells(text.String())
		if err != nil || looks != len(test.members) || away.longest != test.away || sick.longest != test.sick {
			t.Errorf("%s: %d looks, away for %v s, sick for %v s, %v; want %v s and %v s", name, looks, away.longest, sick.longest, err, test.away, test.sick)
		}
	}
	if _, _, _, err := spells("{\n"); err == nil {
		t.Error("half a line is no look, and was taken for one")
	}
}
