package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Event is one line of JSON progress. Units are bytes when bytes is true. docs/exit-codes.md describes the fields.
type Event struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"` // "begin", "progress", "end", "say", "step", "step-end", "now"
	Task  string    `json:"task,omitempty"`
	Host  string    `json:"host,omitempty"` // the other host
	Step  string    `json:"step,omitempty"` // the name of an ended step
	Text  string    `json:"text,omitempty"`
	Total int64     `json:"total,omitempty"`
	Done  int64     `json:"done,omitempty"`
	Bytes bool      `json:"bytes,omitempty"`
	// Outcome is how a step ended: as in StepEnd.
	Outcome string `json:"outcome,omitempty"`
	Error   string `json:"error,omitempty"`
	// Seconds is the time of an ended task or step, and of another host without its wait for a turn.
	Seconds float64 `json:"seconds,omitempty"`
}

// Show shows an event of airgap on another host in that host's line.
func (e Event) Show(h Host) {
	switch e.Event {
	case "step":
		h.Step(int(e.Done)+1, int(e.Total), e.Text)
	case stepEnd:
		h.Ended(e.end())
	}
}

type jsonLines struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func newJSON(w io.Writer) *jsonLines { return &jsonLines{enc: json.NewEncoder(w)} }

func (p *jsonLines) write(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.Time = time.Now().UTC()
	// A progress line that cannot be written must not stop the work.
	_ = p.enc.Encode(e)
}

func (p *jsonLines) Say(format string, args ...any) {
	p.write(Event{Event: "say", Text: fmt.Sprintf(format, args...)})
}

func (p *jsonLines) Now(what string) {
	if what != "" {
		p.write(Event{Event: "now", Text: what})
	}
}

func (p *jsonLines) Close() {}

func (p *jsonLines) Task(name string, total int64, bytes bool) Task {
	p.write(Event{Event: "begin", Task: name, Total: total, Bytes: bytes})
	t := &jsonTask{p: p, began: time.Now(), e: Event{Event: "end", Task: name, Total: total, Bytes: bytes}}
	t.said.Store(t.began.UnixNano())
	return t
}

// sayProgress is the time between two events of a task's progress. A reader that waits for output sees that it goes on.
const sayProgress = time.Minute

type jsonTask struct {
	p     *jsonLines
	e     Event
	began time.Time
	done  atomic.Int64
	said  atomic.Int64 // time of the last event, in ns
}

func (t *jsonTask) Add(n int64) {
	e := t.e
	e.Event, e.Done = "progress", t.done.Add(n)
	last, now := t.said.Load(), time.Now().UnixNano()
	if time.Duration(now-last) >= sayProgress && t.said.CompareAndSwap(last, now) {
		t.p.write(e)
	}
}

func (t *jsonTask) End(err error) {
	e := t.e
	e.Done, e.Seconds, e.Error = t.done.Load(), time.Since(t.began).Seconds(), errorText(err)
	t.p.write(e)
}
