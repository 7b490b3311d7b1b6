package step

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Forecast is what a run would do about one step.
type Forecast struct {
	Step  Step
	Holds bool // nothing
	// Changes are what Run would change, in words for people, as far as that
	// can be told now.
	Changes []string
	// Untold is why there is no more to tell: what the step asks about is
	// brought by an earlier one, or does not answer.
	Untold error
}

// Plan asks the steps, in order, what a run would do. It changes nothing and
// writes no journal. That a step cannot be told is an error only where a run
// would stop at it: when no step before it would run, and bring what it asks
// about. The error names the step.
func Plan(ctx context.Context, steps []Step) ([]Forecast, error) {
	var all []Forecast
	pending := false
	for _, s := range steps {
		f := forecast(ctx, s)
		if err := ctx.Err(); err != nil {
			return all, err
		}
		if f.Untold != nil && !pending {
			return all, fmt.Errorf("step %s: %w", s.Name, f.Untold)
		}
		pending = pending || !f.Holds
		all = append(all, f)
	}
	return all, nil
}

// Check asks all steps at the same time whether they hold, and what a run
// would change where they do not. A step that does not answer within atMost is
// untold. Nothing is changed.
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
		return Forecast{Step: s, Untold: fmt.Errorf("no answer within %s", atMost)}
	}
}

func forecast(ctx context.Context, s Step) Forecast {
	f := Forecast{Step: s}
	if s.Once != "" { // the journal is not asked: what runs once is in no plan
		return f
	}
	if f.Holds, f.Untold = s.holds(ctx); f.Untold != nil {
		f.Untold = fmt.Errorf("check: %w", f.Untold)
	}
	if f.Holds || s.Plan == nil {
		return f
	}
	changes, err := s.Plan(ctx)
	f.Changes = changes
	if f.Untold == nil && err != nil {
		f.Untold = fmt.Errorf("plan: %w", err)
	}
	return f
}
