package status

import (
	"time"

	"airgap.dev/airgap/internal/step"
)

// States of a step, from the journal and its current postcondition.
const (
	stepOK          = "ok"
	stepDrifted     = "drifted"     // it completed, and its result has changed since
	stepInterrupted = "interrupted" // it started and did not complete
	stepFailed      = "failed"
	stepPending     = "pending"    // it has not run yet
	stepUndone      = "taken back" // by a reset
	stepUnknown     = "unknown"    // its postcondition could not be checked
)

// stepStatus is one step of this host.
type stepStatus struct {
	Step  string    `json:"step"`
	Title string    `json:"title,omitempty"`
	State string    `json:"state"`
	Ran   time.Time `json:"ran,omitzero"` // last start or end
	// Changes are the changes of another run.
	Changes []string `json:"changes"`
	Error   string   `json:"error,omitempty"` // reason of the failure or of the unknown state
}

// judge combines the journal with the current state. Without a list of
// steps, on a host that lost its bundle or never had it, the journal alone
// speaks.
func (st *Status) judge(entries []step.Entry, now []step.Forecast) {
	last := map[string]step.Entry{}
	for i, e := range entries {
		if _, again := last[e.Step]; !again && len(now) == 0 {
			st.Steps = append(st.Steps, stepStatus{Step: e.Step})
		}
		last[e.Step] = entries[i]
	}
	for _, f := range now {
		st.Steps = append(st.Steps, stepStatus{Step: f.Step.Name, Title: f.Step.Title, Changes: f.Changes})
	}
	holds := len(now) > 0
	for i := range st.Steps {
		s := &st.Steps[i]
		var f *step.Forecast
		if len(now) > 0 {
			f = &now[i]
		}
		s.judge(last[s.Step], f)
		holds = holds && s.State == stepOK
		if s.State == stepDrifted {
			st.Drifted = append(st.Drifted, s.Step)
		}
	}
	if n := len(entries); n > 0 && entries[n-1].Event == step.Began && !holds && !st.Busy {
		st.Interrupted = entries[n-1].Step
	}
}

// judge gives the state of one step: e is its last journal entry, f
// its forecast, nil if there is none.
func (s *stepStatus) judge(e step.Entry, f *step.Forecast) {
	s.Ran = e.Time
	switch {
	case f != nil && f.UpToDate:
		s.State = stepOK
		return
	case f != nil && f.Incomplete != nil:
		s.Error = f.Incomplete.Error()
	case e.Event == step.Broke:
		s.Error = e.Error
	}
	switch {
	case e.Event == step.Began:
		s.State = stepInterrupted
	case e.Event == step.Broke:
		s.State = stepFailed
	case e.Event == step.Undone:
		s.State = stepUndone
	case e.Event == "":
		s.State = stepPending
	case f == nil || f.Incomplete != nil:
		s.State = stepUnknown
	default:
		s.State = stepDrifted
	}
}
