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

// Undoable returns the steps that were begun and not undone according to the journal, in
// the given order. A step without a recorded end counts, since its progress is unknown.
func (j *Journal) Undoable(steps []Step) ([]Step, error) {
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

// Undo undoes the steps, last first, and writes each one into the journal.
// It stops at the first failure, because an undo may need an earlier step: the
// runtime removes pods, and its package goes after that. It can be called again
// after an interruption at any point. The error names
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
			return fmt.Errorf("undo %s: %w", s.Name, err)
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
