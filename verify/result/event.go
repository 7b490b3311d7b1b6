package result

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// What an Event tells.
const (
	Broke   = "broken"  // a rule got a finding
	Blind   = "unseen"  // a rule cannot be judged any more, or yet
	Changed = "changed" // a finding says something else
	Mended  = "mended"  // a finding is gone
	Well    = "well"    // nothing is broken or unseen, any more or yet
	Verdict = "verdict" // the last event of a run: how things stand
)

// Event is one change that a run which watches tells. A lost API server is a
// finding of the rule api-server.
type Event struct {
	Time   time.Time `json:"time"`
	Event  string    `json:"event"`
	Rule   string    `json:"rule,omitempty"`
	Object string    `json:"object,omitempty"`
	Saw    string    `json:"saw,omitempty"` // of a mended one: what was seen last
	Want   string    `json:"want,omitempty"`
	Fix    string    `json:"fix,omitempty"`
	// Since is when the object was first found.
	Since *time.Time `json:"since,omitempty"`
	// After is how long a mended one was broken.
	After time.Duration `json:"-"` // written as afterSeconds
	// LeftOut counts changes of this object since it was last told of, that
	// followed each other too fast to be told.
	LeftOut int     `json:"leftOut,omitempty"`
	Report  *Report `json:"report,omitempty"` // of the verdict
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

// longest is how many characters of what was seen a line has at most.
const longest = 300

// String is the event as a line.
func (e Event) String() string {
	text := "everything holds"
	switch e.Event {
	case Well:
	case Mended:
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
