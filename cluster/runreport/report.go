// Package runreport reports the changes of airgap's runs on hosts, for a change ticket. It reads the hosts' journals.
package runreport

import (
	"slices"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// Report has the runs on some hosts, oldest first on each.
type Report struct {
	Hosts []Host `json:"hosts"`
}

// Host has the runs on one host.
type Host struct {
	Host string `json:"host"`
	Runs []Run  `json:"runs"`
	// Error says why the journal could not be read.
	Error string `json:"error,omitempty"`
}

// Results of a run or a step.
const (
	Done        = "done"
	Failed      = "failed"
	Interrupted = "interrupted" // it has no end
	TakenBack   = "undone"
)

// Run is one command that changed a host.
type Run struct {
	Command string    `json:"command"`
	User    string    `json:"user"`
	From    string    `json:"from,omitempty"` // the address of the SSH client
	Program string    `json:"program"`        // the version of airgap
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"` // the last entry of an interrupted run
	Result  string    `json:"result"`
	Error   string    `json:"error,omitempty"`
	Steps   []Step    `json:"steps"`

	ID     string      `json:"id,omitempty"` // of the process
	For    host.Origin `json:"for,omitzero"` // the run on another host that ordered this one, as that host claims
	Others []Ordered   `json:"others,omitempty"`

	command step.Invocation // zero for an older version's run
}

// Step is one step that ran. Steps that had nothing to change are not in the journal.
type Step struct {
	Step    string    `json:"step"`
	Title   string    `json:"title"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero"`
	Result  string    `json:"result"`
	Error   string    `json:"error,omitempty"`
	Changes []string  `json:"changes,omitempty"`
}

// unknownUser stands for the runs of older versions, whose journal has only steps.
const unknownUser = "unknown, as in journals of older versions"

// runsOf groups the journal of a host by run.
func runsOf(entries []step.Entry) []Run {
	var runs []Run
	open := false // entries of older versions continue the last run
	for _, e := range entries {
		if e.Event == step.RunBegan {
			runs, open = begin(runs, e), true
			continue
		}
		i := len(runs) - 1
		if e.PID != 0 {
			i = lastOf(runs, e.PID)
		} else if !open {
			i = -1
		}
		if e.Event == step.RunEnded {
			if i >= 0 {
				runs[i].end(e)
			}
			open = false
			continue
		}
		if i < 0 {
			runs, open = append(runs, Run{User: unknownUser, Began: e.Time, Result: Interrupted}), true
			i = len(runs) - 1
		}
		runs[i].add(e)
	}
	return runs
}

// lastOf is the index of the last run of a process; -1 if there is none.
func lastOf(runs []Run, pid int) int {
	for i, r := range slices.Backward(runs) {
		if r.command.PID == pid {
			return i
		}
	}
	return -1
}

// begin adds a run, or continues the last one: a process that runs several lists of steps has an entry for each.
func begin(runs []Run, e step.Entry) []Run {
	r := Run{Began: e.Time, Ended: e.Time, Result: Interrupted}
	if c := e.Command; c != nil {
		r.Command, r.User, r.From, r.Program, r.command = c.Command, c.User, c.From, c.Program, *c
		r.ID, r.For = c.ID, c.For
	}
	if last := len(runs) - 1; last >= 0 && r.command.PID != 0 && runs[last].command == r.command {
		runs[last].Ended, runs[last].Result, runs[last].Error = e.Time, Interrupted, ""
		return runs
	}
	return append(runs, r)
}

func (r *Run) end(e step.Entry) {
	r.Ended, r.Result = e.Time, Done
	if e.Error != "" {
		r.Result, r.Error = Failed, e.Error
	}
}

// add adds an entry about a step.
func (r *Run) add(e step.Entry) {
	r.Ended = e.Time
	if e.Event == step.Began || e.Event == step.ActionBegan {
		r.Steps = append(r.Steps, Step{Step: e.Step, Title: e.Title, Began: e.Time, Result: Interrupted, Changes: e.Changes})
		return
	}
	i := r.openStep(e.Step)
	if i < 0 { // an undo has no begin
		r.Steps = append(r.Steps, Step{Step: e.Step, Title: e.Title, Began: e.Time})
		i = len(r.Steps) - 1
	}
	results := map[string]string{step.Ended: Done, step.Broke: Failed, step.Undone: TakenBack, step.ActionEnded: Done}
	if e.Error != "" {
		results[step.ActionEnded] = Failed
	}
	r.Steps[i].Ended, r.Steps[i].Result, r.Steps[i].Error = e.Time, results[e.Event], e.Error
}

// openStep is the index of the step or the action that has begun; -1 if there is none. An action can have steps in it.
func (r *Run) openStep(name string) int {
	for i, s := range slices.Backward(r.Steps) {
		if s.Step == name && s.Result == Interrupted {
			return i
		}
	}
	return -1
}

// ParseSince reads the value of --since: a duration before now, a date, or a time of RFC 3339.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil { //nolint:gosmopolitan // the user's day
			return t, nil
		}
	}
	return time.Time{}, advice.Usagef("--since %s: expected a duration such as 8h, a date such as 2026-11-29, or a time such as 2026-11-29T22:00:00Z", text)
}

// Choice selects runs.
type Choice struct {
	Since time.Time // earlier runs are left out, by their end; zero: all
	Last  bool      // only the last run of each host
}

func (c Choice) of(runs []Run) []Run {
	chosen := slices.DeleteFunc(runs, func(r Run) bool { return r.Ended.Before(c.Since) })
	if c.Last && len(chosen) > 0 {
		chosen = chosen[len(chosen)-1:]
	}
	return chosen
}
