package result

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// The values of Event.Event.
const (
	Broke   = "broken"  // a rule got a finding
	Blind   = "unseen"  // a rule cannot be judged
	Changed = "changed" // a finding has other text
	Fixed   = "fixed"   // a finding no longer exists
	Healthy = "healthy" // no rule is broken or unseen
	Last    = "result"  // the last event of a run, with the report
)

// Event is one change that verify --watch reports. If the API server does not answer, that is a
// finding of the rule api-server.
type Event struct {
	Time   time.Time `json:"time"`
	Event  string    `json:"event"`
	Rule   string    `json:"rule,omitempty"`
	Object string    `json:"object,omitempty"`
	Saw    string    `json:"saw,omitempty"` // for "fixed": the last observation
	Want   string    `json:"want,omitempty"`
	Fix    string    `json:"fix,omitempty"`
	// Since is when the object was first found.
	Since *time.Time `json:"since,omitempty"`
	// After is how long a "fixed" finding existed.
	After time.Duration `json:"-"` // written as afterSeconds
	// LeftOut counts the changes of this object since its last event. They followed each other too
	// fast to be reported.
	LeftOut int     `json:"leftOut,omitempty"`
	Report  *Report `json:"report,omitempty"` // only for "result"
}

// MarshalJSON writes the duration in seconds.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	return json.Marshal(struct {
		plain
		AfterSeconds float64 `json:"afterSeconds,omitempty"`
	}{plain(e), e.After.Seconds()})
}

// WriteText writes the event as a line.
func (e Event) WriteText(w io.Writer) error {
	_, err := fmt.Fprintln(w, e.String())
	return err
}

// longest is the maximum number of characters of Saw in a line.
const longest = 300

// String returns the event as a line.
func (e Event) String() string {
	text := "all rules are ok"
	switch e.Event {
	case Healthy:
	case Fixed:
		text = fmt.Sprintf("%s: %s, after %s", e.Rule, e.Object, e.After.Round(100*time.Millisecond))
	default:
		saw := []rune(OneLine(e.Saw))
		if len(saw) > longest {
			saw = append(saw[:longest], '…')
		}
		text = fmt.Sprintf("%s: %s: %s; want: %s", e.Rule, e.Object, string(saw), e.Want)
		if e.Fix != "" {
			text += "; fix: " + e.Fix
		}
	}
	if e.LeftOut > 0 {
		text += fmt.Sprintf(" (%s left out)", Plural(e.LeftOut, "change"))
	}
	return fmt.Sprintf("%s %-7s %s", e.Time.Format(time.TimeOnly), e.Event, OneLine(text))
}
