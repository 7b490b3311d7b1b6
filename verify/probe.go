package verify

import (
	"context"
	"sync"
	"time"
)

// Probe checks something that no watch of the API server shows.
type Probe struct {
	ID    string // ID of its rule
	Title string
	Stays bool // waiting does not change the answer
	// Ask is called periodically. Without findings, the rule is ok. It ends with ctx.
	Ask func(ctx context.Context) []Finding
}

const (
	askEvery = 2 * time.Second
	askLimit = 10 * time.Second
)

// probed is a probe with its last answer, so that its rule does not wait.
type probed struct {
	Probe

	mu       sync.Mutex
	findings []Finding
}

func newProbed(p Probe) *probed {
	return &probed{Probe: p, findings: []Finding{{Object: "Probe", Saw: "no answer yet", Want: "an answer", Fix: "run airgap verify again with a longer --timeout", Early: true}}}
}

func (p *probed) rule() rule {
	return rule{id: p.ID, title: p.Title, stays: p.Stays, judge: func(view) []Finding {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.findings
	}}
}

// run repeats the probe until ctx ends.
func (p *probed) run(ctx context.Context, answered func()) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, askLimit)
		findings := p.Ask(limited)
		cancel()
		p.mu.Lock()
		p.findings = findings
		p.mu.Unlock()
		answered()
		sleep(ctx, askEvery)
	}
}
