package members

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestQuorum: a quorum of the voting members must be healthy, and an etcd that does not answer
// proves nothing.
func TestQuorum(t *testing.T) {
	const healthy, unhealthy, learner = `{"healthy": true}`, `{"healthy": false}`, `{"learner": true, "healthy": false}`
	for members, want := range map[string]bool{
		"null":                              false,
		"[]":                                false,
		list(learner):                       false,
		list(healthy):                       true,
		list(unhealthy):                     false,
		list(healthy, learner):              true,
		list(healthy, unhealthy):            false,
		list(healthy, healthy, unhealthy):   true,
		list(healthy, unhealthy, unhealthy): false,
		list(healthy, healthy, healthy, unhealthy):            true,
		list(healthy, healthy, unhealthy, unhealthy):          false,
		list(healthy, healthy, healthy, unhealthy, unhealthy): true,
		list(healthy, healthy, unhealthy, learner, learner):   true,
	} {
		var o observation
		if err := json.Unmarshal([]byte(`{"at": 1, "api": true, "members": `+members+`}`), &o); err != nil {
			t.Fatal(err)
		}
		if o.quorum() != want {
			t.Errorf("quorum of %s: got %t, want %t", members, !want, want)
		}
	}
}

func list(members ...string) string { return "[" + strings.Join(members, ", ") + "]" }

// TestOutages: an outage lasts from the first observation that shows it to the first one that
// does not. The longest counts, also one without an end.
func TestOutages(t *testing.T) {
	const healthy, unhealthy, noAnswer = `[{"healthy": true}]`, `[{"healthy": false}]`, `null`
	for name, test := range map[string]struct {
		members        []string // one observation a second
		api            string   // "+" or "-" for each
		down, noQuorum float64  // seconds
	}{
		"all healthy":            {[]string{healthy, healthy, healthy}, "+++", 0, 0},
		"unhealthy once":         {[]string{healthy, unhealthy, healthy}, "+++", 0, 1},
		"no answer of etcd":      {[]string{healthy, noAnswer, noAnswer, healthy}, "++++", 0, 2},
		"unhealthy, then silent": {[]string{unhealthy, noAnswer, healthy}, "+++", 0, 2},
		"the longest of two":     {[]string{unhealthy, healthy, noAnswer, noAnswer, noAnswer, healthy}, "++++++", 0, 3},
		"without an end":         {[]string{healthy, noAnswer, noAnswer, noAnswer}, "++++", 0, 2},
		"the API alone":          {[]string{healthy, healthy, healthy, healthy}, "+--+", 2, 0},
	} {
		var text strings.Builder
		for i, members := range test.members {
			fmt.Fprintf(&text, "{\"at\": %d, \"api\": %t, \"members\": %s}\n", 1000+i, test.api[i] == '+', members)
		}
		count, down, noQuorum, err := outages(text.String())
		if err != nil || count != len(test.members) || down.longest != test.down || noQuorum.longest != test.noQuorum {
			t.Errorf("%s: got %d observations, no API for %v s, no quorum for %v s, error %v; want %v s and %v s", name, count, down.longest, noQuorum.longest, err, test.down, test.noQuorum)
		}
	}
	if _, _, _, err := outages("{\n"); err == nil {
		t.Error("outages of an incomplete line: got no error, want one")
	}
}
