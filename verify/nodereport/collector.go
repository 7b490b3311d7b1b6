package nodereport

import (
	"context"
	"sync"
	"time"
)

// Collector collects the parts of a report, each at its own interval.
type Collector struct {
	Base  Report // the values that are constant while the program runs
	Parts []Part

	mu    sync.Mutex
	found map[string]Report // by Part.Name; each has only its part
}

// Run collects until ctx ends.
func (c *Collector) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range c.Parts {
		all.Go(func() { c.keep(ctx, p) })
	}
	all.Wait()
}

// keep collects one part periodically, never twice at the same time.
func (c *Collector) keep(ctx context.Context, p Part) {
	for ctx.Err() == nil {
		were := p.files()
		ended := c.look(ctx, p)
		pause := p.Every
		if c.unknown(p) {
			pause = min(pause, retryAfter)
		}
		select {
		case <-ctx.Done():
			return
		case <-ended:
		}
		p.wait(ctx, pause, were)
	}
}

// retryAfter applies to a part that could not be collected: on a host that joins, the program
// that it queries has not started yet.
const retryAfter = 10 * time.Second

func (c *Collector) unknown(p Part) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.found[p.Name].Unknown) > 0
}

func (c *Collector) look(ctx context.Context, p Part) (ended <-chan struct{}) {
	found, ended := p.within(ctx)
	if ctx.Err() != nil {
		return ended // the error is the cancelled context
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[string]Report{}
	}
	c.found[p.Name] = found
	return ended
}

// Once collects each part one time.
func (c *Collector) Once(ctx context.Context) Report {
	var all sync.WaitGroup
	for _, p := range c.Parts {
		all.Go(func() { c.look(ctx, p) })
	}
	all.Wait()
	return c.Report()
}

// Report returns the current state without waiting. A part that was not collected yet is Unknown.
func (c *Collector) Report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.Base
	for _, p := range c.Parts {
		found, known := c.found[p.Name]
		if !known {
			found = p.unknown(notCollected)
		}
		r.add(found)
	}
	return r
}

// notCollected is the reason of a part that was not collected yet.
const notCollected = "it is collected for the first time"
