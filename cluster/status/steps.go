package status

import (
	"time"

	"airgap.dev/airgap/internal/step"
)

// What a step's state can be, by the journal and by its postcondition now.
const (
	stepHolds       = "holds"
	stepDrifted     = "drifted"     // it ran to its end, and does not hold any more
	stepInterrupted = "interrupted" // it began and never ended, and does not hold
	stepFailed      = "failed"
	stepPending     = "pending"    // it has not run yet
	stepUndone      = "taken back" // by a reset
	stepUnknown     = "unknown"    // whether it holds could not be told
)

// stepStatus is one step of this host.
type stepStatus struct {
	Step  string    `json:"step"`
	Title string    `json:"title,omitempty"`
	State string    `json:"state"`
	Ran   time.Time `json:"ran,omitzero"` // when it last began or ended
	// Changes are what running it again would change.
	Changes []string `json:"changes"`
	Error   string   `json:"error,omitempty"` // why it failed, or cannot be told
}

// judge joins what the journal says with what holds now. Without a list of
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
		holds = holds && s.State == stepHolds
		if s.State == stepDrifted {
			st.Drifted = append(st.Drifted, s.Step)
		}
	}
	if n := len(entries); n > 0 && entries[n-1].Event == step.Began && !holds && !st.Busy {
		st.Interrupted = entries[n-1].Step
	}
}

// judge gives the state of one step: e is the journal's last word on it, f
// what it says itself, nil when nobody can ask it.
func (s *stepStatus) judge(e step.Entry, f *step.Forecast) {
	s.Ran = e.Time
	switch {
	case f != nil && f.Holds:
		s.State = stepHolds
		return
	case f != nil && f.Untold != nil:
		s.Error = f.Untold.Error()
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
	case f == nil || f.Untold != nil:
		s.State = stepUnknown
	default:
		s.State = stepDrifted
	}
}
