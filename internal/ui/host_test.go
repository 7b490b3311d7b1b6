package ui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/ui"
)

// twoHosts shows work on two hosts. One of them fails.
func twoHosts(format ui.Format) string {
	var w bytes.Buffer
	p := ui.New(&w, format)
	a, b := p.Host("node2"), p.Host("node3")
	a.Step(1, 2, "Install the packages")
	b.Now("lost the connection")
	a.Step(2, 2, "Join the cluster")
	a.End(nil)
	b.End(errors.New("no disk\nat all"))
	p.Step(3, 4, "Start the registry")
	p.Close() // would hang if a bar stayed open
	return w.String()
}

func TestHostsAreLines(t *testing.T) {
	want := "node2: 1/2 Install the packages\nnode3: lost the connection\nnode2: 2/2 Join the cluster\nnode2: done in 0s\nnode3: FAILED after 0s: no disk\n"
	if got := twoHosts(ui.Plain); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	twoHosts(ui.Bars) // off a terminal they draw nothing, and must end
}

func TestHostsAsJSON(t *testing.T) {
	var steps []string
	for line := range strings.Lines(twoHosts(ui.JSON)) {
		var e struct {
			Event, Host, Text, Error string
			Done, Total              int
			Time                     time.Time
			Seconds                  float64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Time.IsZero() || (e.Event == "end") != (e.Seconds > 0) {
			t.Errorf("time or duration: %+v", e)
		}
		if e.Event == "step" {
			steps = append(steps, e.Host+" "+e.Text)
		}
		if e.Event == "step" && e.Host == "" && (e.Done != 2 || e.Total != 4) {
			t.Errorf("own step: %+v", e)
		}
		if e.Event == "end" && (e.Host == "node3") != (e.Error != "") {
			t.Errorf("end: %+v", e)
		}
	}
	if got := strings.Join(steps, ", "); got != "node2 Install the packages, node2 Join the cluster,  Start the registry" {
		t.Errorf("steps: %s", got)
	}
}
