package verify

import (
	"fmt"
	"strings"
	"time"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/result"
)

// live draws a line for each rule in place, where somebody sits at a terminal.
type live struct {
	table ui.Table // nil: nobody does
}

func newLive(o Options) *live { return &live{table: o.Progress.Table()} }

// show draws the lines anew. It says no where nothing can be drawn.
func (l *live) show(e *engine) bool {
	if l.table == nil {
		return false
	}
	var lines []ui.Line
	for _, id := range e.board.ids {
		if r := e.board.rows[id]; r.left == "" || r.asked {
			lines = append(lines, r.live(id))
		}
	}
	l.table.Show(e.heading(time.Now()), lines)
	return true
}

func (l *live) end() {
	if l.table != nil {
		l.table.End()
	}
}

func (r *row) live(id string) ui.Line {
	l := ui.Line{Mark: string(r.outcome()), Name: id, Text: r.title}
	switch r.outcome() {
	case result.Holds:
		l.Tone = ui.Good
	case result.Broken:
		line, more := r.first()
		l.Tone, l.Text = ui.Bad, line+more
	case result.Known, result.Unseen:
	}
	return l
}

// heading says how long it has gone on, and how far the soak window is.
func (e *engine) heading(now time.Time) string {
	took := now.Sub(e.began).Round(time.Second)
	switch {
	case !e.board.holds() && e.options.Timeout > 0:
		return fmt.Sprintf("not everything holds yet, after %s of at most %s", took, e.options.Timeout)
	case !e.board.holds():
		return fmt.Sprintf("not everything holds, after %s", took)
	}
	held := now.Sub(e.board.holdsSince).Round(time.Second)
	if e.options.Watch != nil {
		return fmt.Sprintf("everything has held for %s", held)
	}
	return fmt.Sprintf("%s everything has held for %s of %s", gauge(held, e.options.Soak), held, e.options.Soak)
}

// gauge is a bar of 20 columns.
func gauge(done, total time.Duration) string {
	n := min(int(20*done/total), 20)
	return "[" + strings.Repeat("=", n) + strings.Repeat(" ", 20-n) + "]"
}
