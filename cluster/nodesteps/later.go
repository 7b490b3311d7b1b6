package nodesteps

import (
	"context"

	"airgap.dev/airgap/internal/step"
)

// later is a step that is built when it runs, from the results of earlier steps. Name, title and
// undo come from back, which is built for the undo.
func later(back step.Step, made func() (step.Step, error)) step.Step {
	back.Done = func(ctx context.Context) (bool, error) {
		s, err := made()
		if err != nil {
			return false, err
		}
		return s.Done(ctx)
	}
	back.Plan = func(ctx context.Context) ([]string, error) {
		s, err := made()
		if err != nil {
			return nil, err
		}
		return s.Plan(ctx)
	}
	back.Run = func(ctx context.Context) error {
		s, err := made()
		if err != nil {
			return err
		}
		return s.Run(ctx)
	}
	return back
}
