package ui

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Step implements Progress.
func (b *bars) Step(n, of int, title string) { b.Now(fmt.Sprintf("%d/%d %s", n, of, title)) }

// barHost is a bar with the steps and the current work of a host.
type barHost struct {
	bar *mpb.Bar
	now atomic.Value // string
	of  int64        // steps
}

// Host implements Progress.
func (b *bars) Host(name string) Host {
	h := &barHost{}
	h.now.Store("waits for its turn")
	h.bar = b.p.New(0, mpb.BarStyle(), mpb.BarWidth(16),
		mpb.PrependDecorators(decor.Name(escapedLine(name), decor.WCSyncSpaceR)),
		mpb.AppendDecorators(
			decor.Any(func(s decor.Statistics) string { return outOf(s.Current, s.Total) }, decor.WCSyncSpace),
			decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace),
			decor.Any(func(decor.Statistics) string { return " " + h.now.Load().(string) })))
	return h
}

// outOf is empty while the total is unknown.
func outOf(done, total int64) string {
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", done, total)
}

func (h *barHost) Step(n, of int, title string) {
	h.now.Store(escapedLine(title))
	h.of = int64(of)
	h.bar.SetTotal(int64(of), false)
	h.bar.SetCurrent(int64(n - 1))
}

func (h *barHost) Now(what string) { h.now.Store(escapedLine(what)) }

func (h *barHost) End(err error) {
	if err != nil {
		h.now.Store("FAILED: " + escapedLine(firstLine(err)))
		h.bar.Abort(false)
		return
	}
	h.now.Store("done")
	h.bar.SetCurrent(h.of)
	h.bar.SetTotal(-1, true)
}

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

type jsonHost struct {
	p    *jsonLines
	name string
}

// Host implements Progress.
func (p *jsonLines) Host(name string) Host {
	p.write(Event{Event: "begin", Host: name})
	return &jsonHost{p, name}
}

func (h *jsonHost) Step(n, of int, title string) {
	h.p.write(Event{Event: "step", Host: h.name, Text: title, Done: int64(n - 1), Total: int64(of)})
}

func (h *jsonHost) Now(what string) { h.p.write(Event{Event: "now", Host: h.name, Text: what}) }

func (h *jsonHost) End(err error) {
	e := Event{Event: "end", Host: h.name}
	if err != nil {
		e.Error = err.Error()
	}
	h.p.write(e)
}
