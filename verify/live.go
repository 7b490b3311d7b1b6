package verify

import (
	"fmt"
	"strings"
	"time"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/result"
)

// live draws one line for each rule in place on a terminal.
type live struct {
	table ui.Table // nil: no terminal
}

func newLive(o Options) *live { return &live{table: o.Progress.Table()} }

// show draws the lines again. It returns false without a terminal.
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
	case result.OK:
		l.Tone = ui.Good
	case result.Broken:
		line, more := r.first()
		l.Tone, l.Text = ui.Bad, line+more
	case result.Known, result.Unseen:
	}
	return l
}

// heading returns how long the run has taken, and the progress of the soak window.
func (e *engine) heading(now time.Time) string {
	took := now.Sub(e.began).Round(time.Second)
	switch {
	case !e.board.allOK() && e.options.Timeout > 0:
		return fmt.Sprintf("not all rules are ok yet, after %s of at most %s", took, e.options.Timeout)
	case !e.board.allOK():
		return fmt.Sprintf("not all rules are ok, after %s", took)
	}
	held := now.Sub(e.board.okSince).Round(time.Second)
	if e.options.Watch != nil {
		return fmt.Sprintf("all rules have been ok for %s", held)
	}
	return fmt.Sprintf("%s all rules have been ok for %s of %s", gauge(held, e.options.Soak), held, e.options.Soak)
}

// gauge returns a bar of 20 columns.
func gauge(done, total time.Duration) string {
	n := min(int(20*done/total), 20)
	return "[" + strings.Repeat("=", n) + strings.Repeat(" ", 20-n) + "]"
}
