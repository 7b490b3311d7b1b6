package step

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// TakenBack is the outcome of a step that was undone.
const TakenBack Outcome = "undone"

// Standing are the steps that the journal says were begun and not taken back
// since, in the order given. A step that only began counts: nobody knows how
// far it came.
func (j *Journal) Standing(steps []Step) ([]Step, error) {
	entries, err := j.Entries()
	if err != nil {
		return nil, err
	}
	stands := map[string]bool{}
	for _, e := range entries {
		stands[e.Step] = e.Event != Undone
	}
	var standing []Step
	for _, s := range steps {
		if stands[s.Name] {
			standing = append(standing, s)
		}
	}
	return standing, nil
}

// Undo takes the steps back, last first, and writes each one into the journal.
// It stops at the first that fails, because a step may need what those before
// it brought: pods are removed by the runtime, packages erased after that. It
// may be called again after it was interrupted at any point. The error names
// the step.
func Undo(ctx context.Context, journal *Journal, steps []Step, observe func(Event)) error {
	for _, s := range slices.Backward(steps) {
		observe(Event{Step: s})
		began := time.Now()
		outcome, err := TakenBack, undo(ctx, journal, s)
		if err != nil {
			outcome = Failed
		}
		observe(Event{Step: s, Outcome: outcome, Took: time.Since(began), Err: err})
		if err != nil {
			return fmt.Errorf("take back %s: %w", s.Name, err)
		}
	}
	return nil
}

func undo(ctx context.Context, journal *Journal, s Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.Undo != nil {
		if err := s.Undo(ctx); err != nil {
			return cmp.Or(err, journal.append(Entry{Step: s.Name, Event: Broke, Error: err.Error()}))
		}
	}
	return journal.conclude(Entry{Step: s.Name, Event: Undone})
}
