package step

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Forecast is the expected effect of a run on one step.
type Forecast struct {
	Step     Step
	UpToDate bool // no change
	// Changes describes the changes of Run for people, as far as they are known now.
	Changes []string
	// Incomplete is the reason for missing changes: an earlier step provides the
	// component that the step asks, or the component does not answer.
	Incomplete error
}

// Plan asks the steps, in order, for the effect of a run. It changes nothing and
// writes no journal. A step with an unknown effect is an error only if a run
// would stop at it: no earlier step would run and provide the component that it
// asks. The error names the step.
func Plan(ctx context.Context, steps []Step) ([]Forecast, error) {
	var all []Forecast
	pending := false
	for _, s := range steps {
		f := forecast(ctx, s)
		if err := ctx.Err(); err != nil {
			return all, err
		}
		if f.Incomplete != nil && !pending {
			return all, fmt.Errorf("step %s: %w", s.Name, f.Incomplete)
		}
		pending = pending || !f.UpToDate
		all = append(all, f)
	}
	return all, nil
}

// Check asks all steps in parallel whether their postcondition holds, and for the
// changes of a run if not. A step that does not answer within atMost is incomplete.
// It changes nothing.
func Check(ctx context.Context, steps []Step, atMost time.Duration) []Forecast {
	all := make([]Forecast, len(steps))
	var asked sync.WaitGroup
	for i, s := range steps {
		asked.Go(func() { all[i] = within(ctx, s, atMost) })
	}
	asked.Wait()
	return all
}

// within does not wait for a question that cannot be called off, such as a
// read from a dead file server.
func within(ctx context.Context, s Step, atMost time.Duration) Forecast {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	answer := make(chan Forecast, 1)
	go func() { answer <- forecast(ctx, s) }()
	select {
	case f := <-answer:
		return f
	case <-ctx.Done():
		return Forecast{Step: s, Incomplete: fmt.Errorf("no answer within %s", atMost)}
	}
}

func forecast(ctx context.Context, s Step) Forecast {
	f := Forecast{Step: s}
	if s.Once != "" { // a plan contains no steps that run once
		return f
	}
	if f.UpToDate, f.Incomplete = s.holds(ctx); f.Incomplete != nil {
		f.Incomplete = fmt.Errorf("check: %w", f.Incomplete)
	}
	if f.UpToDate || s.Plan == nil {
		return f
	}
	changes, err := s.Plan(ctx)
	f.Changes = changes
	if f.Incomplete == nil && err != nil {
		f.Incomplete = fmt.Errorf("plan: %w", err)
	}
	return f
}
