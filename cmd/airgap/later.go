package main

import (
	"context"

	"airgap.dev/airgap/internal/step"
)

// later is a step that is made when its turn has come, from what the steps before it
// have brought. Name and title are known from the start.
func later(name, title string, made func() (step.Step, error)) step.Step {
	return step.Step{
		Name: name, Title: title,
		Done: func(ctx context.Context) (bool, error) {
			s, err := made()
			if err != nil {
				return false, err
			}
			return s.Done(ctx)
		},
		Plan: func(ctx context.Context) ([]string, error) {
			s, err := made()
			if err != nil {
				return nil, err
			}
			return s.Plan(ctx)
		},
		Run: func(ctx context.Context) error {
			s, err := made()
			if err != nil {
				return err
			}
			return s.Run(ctx)
		},
	}
}
