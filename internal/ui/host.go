package ui

import (
	"fmt"
	"strings"
	"time"
)

// Step implements Progress.
func (b *bars) Step(n, of int, title string) { b.Now(fmt.Sprintf("%d/%d %s", n, of, title)) }

// Step implements Progress: the steps themselves are said when they have ended.
func (p *plain) Step(int, int, string) {}

// plainHost writes a line each time.
type plainHost struct {
	p     *plain
	name  string
	began time.Time
}

// Host implements Progress.
func (p *plain) Host(name string) Host { return &plainHost{p, name, time.Now()} }

func (h *plainHost) Step(n, of int, title string) { h.p.Say("%s: %d/%d %s", h.name, n, of, title) }

func (h *plainHost) Now(what string) { h.p.Say("%s: %s", h.name, what) }

func (h *plainHost) End(err error) {
	took := time.Since(h.began).Round(100 * time.Millisecond)
	if err != nil {
		h.p.Say("%s: FAILED after %s: %s", h.name, took, firstLine(err))
		return
	}
	h.p.Say("%s: done in %s", h.name, took)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Step implements Progress.
func (p *jsonLines) Step(n, of int, title string) {
	p.write(Event{Event: "step", Text: title, Done: int64(n - 1), Total: int64(of)})
}

// jsonHost begins with the first work: before that, the host waits for its turn.
type jsonHost struct {
	p     *jsonLines
	name  string
	task  string // empty: the command of the user
	began time.Time
}

// Host implements Progress.
func (p *jsonLines) Host(name string) Host { return &jsonHost{p: p, name: name} }

func (h *jsonHost) Step(n, of int, title string) {
	h.work()
	h.p.write(Event{Event: "step", Host: h.name, Text: title, Done: int64(n - 1), Total: int64(of)})
}

func (h *jsonHost) Now(what string) {
	h.work()
	h.p.write(Event{Event: "now", Host: h.name, Text: what})
}

func (h *jsonHost) work() {
	if h.began.IsZero() {
		h.began = time.Now()
		h.p.write(Event{Event: "begin", Host: h.name, Task: h.task})
	}
}

func (h *jsonHost) End(err error) {
	h.work()
	h.p.write(Event{Event: "end", Host: h.name, Task: h.task, Seconds: time.Since(h.began).Seconds(), Error: errorText(err)})
}

// Work shows for programs that a short task on another host begins. end shows its end. On a screen it shows nothing.
func Work(p Progress, host, task string) (end func(error)) {
	if a, is := p.(*Asking); is {
		p = a.now()
	}
	lines, is := p.(*jsonLines)
	if !is {
		return func(error) {}
	}
	h := &jsonHost{p: lines, name: host, task: task}
	h.work()
	return h.End
}
