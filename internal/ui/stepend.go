package ui

import "time"

// StepEnd is the end of a step.
type StepEnd struct {
	Step    string // its short name, as in the journal
	Title   string
	Outcome string // "changed", "unchanged", "failed", "stopped" or "undone"
	Took    time.Duration
	Err     error
	Line    string // for a user; empty: nothing to show
}

// Ended implements Progress.
func (b *bars) Ended(e StepEnd) { sayEnd(b, e) }

// Ended implements Progress.
func (p *plain) Ended(e StepEnd) { sayEnd(p, e) }

func sayEnd(p Progress, e StepEnd) {
	if e.Line != "" {
		p.Say("%s", e.Line)
	}
}

// Ended implements Progress.
func (p *jsonLines) Ended(e StepEnd) { p.write(e.event("")) }

// Ended implements Progress.
func (a *Asking) Ended(e StepEnd) { a.now().Ended(e) }

// Ended implements Host: End has the failure.
func (one *barHost) Ended(StepEnd) {}

// Ended implements Host: End has the failure.
func (h *plainHost) Ended(StepEnd) {}

// Ended implements Host.
func (h *jsonHost) Ended(e StepEnd) {
	h.work()
	h.p.write(e.event(h.name))
}

const stepEnd = "step-end"

func (e StepEnd) event(host string) Event {
	return Event{
		Event: stepEnd, Host: host, Step: e.Step, Text: e.Title, Outcome: e.Outcome, Seconds: e.Took.Seconds(), Error: errorText(e.Err),
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Words of another host that are longer are cut.
const (
	maxWord = 64   // a name
	maxText = 4096 // a title or a failure
	// maxTook is the longest time in seconds: no step takes a year.
	maxTook = 365 * 24 * 3600
)

// end is the end of a step on another host. The host may be in wrong hands.
func (e Event) end() StepEnd {
	end := StepEnd{
		Step: cut(e.Step, maxWord), Title: cut(e.Text, maxText), Outcome: cut(e.Outcome, maxWord),
		Took: time.Duration(min(max(0, e.Seconds), maxTook) * float64(time.Second)),
	}
	if e.Error != "" {
		end.Err = failure(cut(e.Error, maxText))
	}
	return end
}

// failure is the error of another host.
type failure string

func (f failure) Error() string { return string(f) }
