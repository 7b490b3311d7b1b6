package nodesteps

import (
	"context"

	"airgap.dev/airgap/internal/step"
)

// later is a step that is made when its turn has come, from what the steps before it
// have brought. Name, title and undo are those of back, which is made for going back.
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
