package ui

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// plain writes one line when a task begins, one when it ends.
type plain struct {
	mu sync.Mutex
	w  io.Writer
}

func newPlain(w io.Writer) *plain { return &plain{w: w} }

func (p *plain) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *plain) Now(string) {}

func (p *plain) Close() {}

func (p *plain) Task(name string, total int64, bytes bool) Task {
	if total > 0 {
		p.Say("%s: %s", name, amount(total, bytes))
	} else {
		p.Say("%s", name)
	}
	return &plainTask{p: p, name: name, total: total, bytes: bytes, began: time.Now()}
}

type plainTask struct {
	p     *plain
	name  string
	total int64
	bytes bool
	began time.Time
	done  atomic.Int64
}

func (t *plainTask) Add(n int64) { t.done.Add(n) }

func (t *plainTask) End(err error) {
	took := time.Since(t.began).Round(100 * time.Millisecond)
	if err != nil {
		done := amount(t.done.Load(), t.bytes)
		if t.total > 0 {
			done += " of " + amount(t.total, t.bytes)
		}
		t.p.Say("%s: stopped after %s, %s", t.name, done, took)
		return
	}
	t.p.Say("%s: done, %s in %s", t.name, amount(t.done.Load(), t.bytes), took)
}

func amount(n int64, bytes bool) string {
	if bytes {
		return Size(n)
	}
	return fmt.Sprint(n)
}
