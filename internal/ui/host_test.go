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
	a.Ended(ui.StepEnd{Step: "packages", Title: "Install the packages", Outcome: "changed", Took: 3 * time.Second})
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

// event is what a program reads.
type event struct {
	Event, Host, Task, Step, Text, Outcome, Error string
	Done, Total                                   int
	Time                                          time.Time
	Seconds                                       float64
}

func eventsOf(t *testing.T, lines string) (all []event) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

func TestHostsAsJSON(t *testing.T) {
	var steps, order []string
	for _, e := range eventsOf(t, twoHosts(ui.JSON)) {
		order = append(order, strings.Trim(e.Event+" "+e.Host, " "))
		if e.Time.IsZero() || (e.Event == "end" || e.Event == "step-end") != (e.Seconds > 0) {
			t.Errorf("time or duration: %+v", e)
		}
		if e.Event == "step" {
			steps = append(steps, e.Host+" "+e.Text)
		}
		if e.Event == "step" && e.Host == "" && (e.Done != 2 || e.Total != 4) {
			t.Errorf("own step: %+v", e)
		}
		if e.Event == "step-end" && (e.Step != "packages" || e.Text != "Install the packages" || e.Outcome != "changed" || e.Seconds != 3) {
			t.Errorf("end of a step: %+v", e)
		}
		if e.Event == "end" && (e.Host == "node3") != (e.Error != "") {
			t.Errorf("end: %+v", e)
		}
	}
	if got := strings.Join(steps, ", "); got != "node2 Install the packages, node2 Join the cluster,  Start the registry" {
		t.Errorf("steps: %s", got)
	}
	const want = "begin node2, step node2, step-end node2, begin node3, now node3, step node2, end node2, end node3, step"
	if got := strings.Join(order, ", "); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestStepEnds: a user reads the line of a step, a program its outcome and time. Both read them of other hosts, too.
func TestStepEnds(t *testing.T) {
	var text, lines, forwarded bytes.Buffer
	end := ui.StepEnd{Step: "registry", Title: "Start it", Outcome: "failed", Took: time.Second, Err: errors.New("no disk"), Line: "failed registry"}
	ui.New(&text, ui.Plain).Ended(end)
	ui.New(&text, ui.Plain).Ended(ui.StepEnd{Outcome: "stopped"})
	if text.String() != "failed registry\n" {
		t.Errorf("as text: %q", text.String())
	}
	ui.New(&lines, ui.JSON).Ended(end)
	var sent ui.Event
	if err := json.Unmarshal(lines.Bytes(), &sent); err != nil {
		t.Fatal(err)
	}
	hostile := sent
	hostile.Step, hostile.Text, hostile.Seconds = strings.Repeat("x", 1<<20), "a\x1b[2J\nb", 1e300
	host := ui.New(&forwarded, ui.JSON).Host("node2")
	sent.Show(host)
	hostile.Show(host)
	all := eventsOf(t, forwarded.String())
	if e := all[1]; e.Host != "node2" || e.Step != "registry" || e.Outcome != "failed" || e.Seconds != 1 || e.Error != "no disk" || e.Text != "Start it" {
		t.Errorf("forwarded: %+v", e)
	}
	if e := all[2]; len(e.Step) > 100 || strings.ContainsAny(e.Text, "\x1b\n") || e.Seconds > 1e9 {
		t.Errorf("of a hostile host: %+v", e)
	}
}

// TestWorkAsJSON: a short task on another host has its begin and its end with the time. A screen does not show it.
func TestWorkAsJSON(t *testing.T) {
	var lines, text bytes.Buffer
	p := ui.New(&lines, ui.JSON)
	end := ui.Work(p, "node2", "Log in")
	p.Now("Measure the network")
	p.Now("")
	end(errors.New("no route"))
	var got []string
	for _, e := range eventsOf(t, lines.String()) {
		got = append(got, strings.Join([]string{e.Event, e.Host, e.Task, e.Text, e.Error}, "/"))
		if (e.Event == "end") != (e.Seconds > 0) {
			t.Errorf("duration: %+v", e)
		}
	}
	if want := "begin/node2/Log in// now///Measure the network/ end/node2/Log in//no route"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	ui.Work(ui.New(&text, ui.Plain), "node2", "Log in")(nil)
	if text.Len() > 0 {
		t.Errorf("the screen has %q", text.String())
	}
}
