package result

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestEventAsLine(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 5, 0, time.UTC)
	f := Event{Time: at, Event: Broke, Rule: "pods", Object: "Pod a/b", Saw: "it said:\n\x1b[2J bye", Want: "ready", Fix: "look", LeftOut: 2}
	for want, e := range map[string]Event{
		"08:00:05 broken  pods: Pod a/b: it said: \ufffd[2J bye; want: ready; fix: look (2 changes left out)": f,
		"08:00:05 fixed   pods: Pod a/b, after 1m5s":                                                          {Time: at, Event: Fixed, Rule: "pods", Object: "Pod a/b", After: 65 * time.Second},
		"08:00:05 healthy all rules are ok":                                                                   {Time: at, Event: Healthy},
	} {
		if got := e.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f.Saw = strings.Repeat("가", 1000)
	if got := f.String(); strings.Count(got, "가") != longest {
		t.Errorf("got %d characters of Saw, want %d", strings.Count(got, "가"), longest)
	}
}

func TestEventAsJSON(t *testing.T) {
	data, err := json.Marshal(Event{Time: time.Unix(0, 0).UTC(), Event: Fixed, Rule: "pods", Object: "Pod a/b", After: 1500 * time.Millisecond})
	want := `{"time":"1970-01-01T00:00:00Z","event":"fixed","rule":"pods","object":"Pod a/b","afterSeconds":1.5}`
	if err != nil || !bytes.Equal(data, []byte(want)) {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
}
