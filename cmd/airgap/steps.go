package main

import (
	"context"
	"fmt"
	"time"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

// runSteps runs the steps under the host's lock and shows each with its time.
func (a *app) runSteps(ctx context.Context, steps []step.Step, progress ui.Progress) (step.Result, error) {
	result, err := step.Run(ctx, step.OpenJournal(journalFile), steps, func(e step.Event) { showStep(progress, e) })
	return result, err
}

// showStep says what a step is doing when it may take long, and how it ended.
func showStep(p ui.Progress, e step.Event) {
	switch e.Outcome {
	case "":
		return
	case step.Unchanged:
		p.Say("  %-9s %-14s %s", "holds", e.Step.Name, e.Step.Title)
	default:
		p.Say("  %-9s %-14s %-48s %6.1f s", e.Outcome, e.Step.Name, e.Step.Title, e.Took.Seconds())
	}
}

// undoSteps takes the steps back, last first. It goes on after an error, so
// that as much as possible is taken back, and reports all of them.
func undoSteps(ctx context.Context, steps []step.Step, p ui.Progress) []error {
	var failed []error
	for i := len(steps) - 1; i >= 0; i-- {
		s := steps[i]
		if s.Undo == nil {
			continue
		}
		began := time.Now()
		if err := s.Undo(ctx); err != nil {
			failed = append(failed, fmt.Errorf("undo %s: %w", s.Name, err))
			p.Say("  %-9s %-14s %s", "failed", s.Name, s.Title)
			continue
		}
		p.Say("  %-9s %-14s %-48s %6.1f s", "undone", s.Name, s.Title, time.Since(began).Seconds())
	}
	return failed
}
