package nodereport

import (
	"context"
	"sync"
	"time"
)

// Collector looks at the parts, each at its own pace.
type Collector struct {
	Base  Report // what does not change while the program runs
	Parts []Part

	mu    sync.Mutex
	found map[string]Report // by Part.Name, each with its part alone
}

// Run looks until ctx ends.
func (c *Collector) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range c.Parts {
		all.Go(func() { c.keep(ctx, p) })
	}
	all.Wait()
}

// keep looks at one part again and again, never twice at the same time.
func (c *Collector) keep(ctx context.Context, p Part) {
	for ctx.Err() == nil {
		were := p.files()
		ended := c.look(ctx, p)
		pause := p.Every
		if c.unknown(p) {
			pause = min(pause, againAfter)
		}
		select {
		case <-ctx.Done():
			return
		case <-ended:
		}
		p.wait(ctx, pause, were)
	}
}

// againAfter is for a part that could not be looked at: on a host that joins,
// what is asked has not started yet.
const againAfter = 10 * time.Second

func (c *Collector) unknown(p Part) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.found[p.Name].Unknown) > 0
}

func (c *Collector) look(ctx context.Context, p Part) (ended <-chan struct{}) {
	found, ended := p.within(ctx)
	if ctx.Err() != nil {
		return ended // what it says is that we end
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = map[string]Report{}
	}
	c.found[p.Name] = found
	return ended
}

// Once looks at every part one time.
func (c *Collector) Once(ctx context.Context) Report {
	var all sync.WaitGroup
	for _, p := range c.Parts {
		all.Go(func() { c.look(ctx, p) })
	}
	all.Wait()
	return c.Report()
}

// Report is what is known now. It does not wait; a part whose first look has
// not come back is Unknown.
func (c *Collector) Report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.Base
	for _, p := range c.Parts {
		found, known := c.found[p.Name]
		if !known {
			found = p.unknown(NotYet)
		}
		r.add(found)
	}
	return r
}

// NotYet is the reason of a part that is being looked at for the first time.
const NotYet = "it is being looked at for the first time"
