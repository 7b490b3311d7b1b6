package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// hostState is the state of a host's line. The order is that of the lines: a failure is never below the end of the terminal.
type hostState int

const (
	failed hostState = iota
	working
	waiting
	done
)

// barHosts are the lines of the other hosts on a terminal.
type barHosts struct {
	table *table // nil: it draws nothing

	mu  sync.Mutex
	all []*barHost
}

// barHost is the line of one host.
type barHost struct {
	hosts *barHosts
	name  string
	state hostState
	steps string // "3/37"
	text  string // the current work, or the failure
	began time.Time
	took  time.Duration // until it ended
}

// Host implements Progress.
func (b *bars) Host(name string) Host {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lines().add(name)
}

// lines returns the lines, which the first host makes.
func (b *bars) lines() *barHosts {
	if b.hosts == nil {
		b.hosts = &barHosts{}
		if b.terminal != nil {
			b.hosts.table = b.newTable("done or waiting", b.hosts.content)
		}
	}
	return b.hosts
}

// end keeps the lines as they are.
func (h *barHosts) end() {
	if h != nil && h.table != nil {
		h.table.bar.Abort(false)
	}
}

// add adds a line, or replaces the line of the same host after its end or before its begin.
func (h *barHosts) add(name string) *barHost {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = slices.DeleteFunc(h.all, func(old *barHost) bool {
		return old.name == escapedLine(name) && old.state != working
	})
	one := h.waiting(escapedLine(name))
	h.all = append(h.all, one)
	return one
}

func (h *barHosts) waiting(name string) *barHost {
	return &barHost{hosts: h, name: name, state: waiting, began: time.Now()}
}

// content counts the hosts by state, and has a line for each.
func (h *barHosts) content() (string, []Line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	count := map[hostState]int{}
	sorted := slices.Clone(h.all)
	slices.SortStableFunc(sorted, func(a, b *barHost) int { return cmp.Compare(a.state, b.state) })
	var lines []Line
	for _, one := range sorted {
		count[one.state]++
		lines = append(lines, one.line())
	}
	parts := []string{fmt.Sprintf("%d of %s done", count[done], Count(len(h.all), "host"))}
	for _, s := range []struct {
		state hostState
		word  string
	}{{failed, "failed"}, {working, "working"}, {waiting, "waiting"}} {
		if n := count[s.state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.word))
		}
	}
	return strings.Join(parts, ", "), lines
}

func (one *barHost) line() Line {
	l := Line{Name: one.name, Mark: one.steps, Text: one.took.String() + "  " + one.text}
	switch one.state {
	case failed:
		l.Mark, l.Tone = "FAILED", Bad
	case working:
		l.Text = time.Since(one.began).Round(time.Second).String() + "  " + one.text
	case waiting:
		l.Mark, l.Tone, l.Text = "waits", Idle, ""
	case done:
		l.Mark, l.Tone = "done", Good
	}
	return l
}

// set changes the line. The time begins with the first work.
func (one *barHost) set(state hostState, steps, text string) {
	one.hosts.mu.Lock()
	defer one.hosts.mu.Unlock()
	if one.state == waiting {
		one.began = time.Now()
	}
	if steps != "" {
		one.steps = steps
	}
	one.state, one.text, one.took = state, escapedLine(text), time.Since(one.began).Round(time.Second)
}

func (one *barHost) Step(n, of int, title string) {
	one.set(working, fmt.Sprintf("%d/%d", n, of), title)
}

func (one *barHost) Now(what string) { one.set(working, "", what) }

func (one *barHost) End(err error) {
	if err != nil {
		one.set(failed, "", firstLine(err))
		return
	}
	one.set(done, "", "")
}
