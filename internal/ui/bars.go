package ui

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bars draws a bar for each running task.
type bars struct {
	p        *mpb.Progress
	terminal *os.File // nil: it draws nothing
	mu       sync.Mutex
	now      *mpb.Bar // the line of Now, or nil
	hosts    *barHosts
}

func newBars(w io.Writer) *bars {
	p := mpb.New(mpb.WithOutput(w), mpb.WithWidth(32), mpb.WithRefreshRate(100*time.Millisecond))
	return &bars{p: p, terminal: terminalOf(w)}
}

// Say writes above the bars, so that they stay at the bottom.
func (b *bars) Say(format string, args ...any) {
	fmt.Fprintln(b.p, Escape(fmt.Sprintf(format, args...)))
}

func (b *bars) Now(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now != nil {
		b.now.Abort(true)
		b.now = nil
	}
	if what != "" {
		b.now = b.p.AddSpinner(0, mpb.BarWidth(1),
			mpb.AppendDecorators(decor.Name(escapedLine(what), decor.WCSyncSpaceR), decor.Elapsed(decor.ET_STYLE_GO)))
	}
}

// waiting draws a line with a text that changes, until stop.
func (b *bars) waiting(text func() string) (stop func()) {
	line := b.p.AddSpinner(0, mpb.BarWidth(1), mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return escapedLine(text()) })))
	return func() { line.Abort(true) }
}

func (b *bars) Close() {
	b.Now("")
	b.hosts.end()
	b.p.Wait()
}

func (b *bars) Task(name string, total int64, bytes bool) Task {
	counters := decor.CountersNoUnit("%d/%d", decor.WCSyncSpace)
	speed := decor.Name("")
	if bytes {
		counters = decor.CountersKiloByte("% .1f / % .1f", decor.WCSyncSpace)
		speed = decor.AverageSpeed(decor.SizeB1000(0), "% .0f", decor.WCSyncSpace)
	}
	bar := b.p.AddBar(total,
		mpb.PrependDecorators(decor.Name(escapedLine(name), decor.WCSyncSpaceR)),
		mpb.AppendDecorators(counters, speed, decor.OnComplete(decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace), "done")))
	return barTask{bar}
}

type barTask struct{ bar *mpb.Bar }

func (t barTask) Add(n int64) { t.bar.IncrInt64(n) }

func (t barTask) End(err error) {
	if err != nil {
		t.bar.Abort(false)
		return
	}
	t.bar.SetTotal(-1, true)
}
