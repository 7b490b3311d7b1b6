package rpm

import (
	"context"

	"airgap.dev/airgap/internal/step"
)

// PackagesStep installs the lock's packages.
func PackagesStep(t Transaction) step.Step {
	return step.Step{
		Name:  "packages",
		Title: "Install packages",
		Done: func(ctx context.Context) (bool, error) {
			missing, err := t.Missing(ctx)
			return len(missing) == 0, err
		},
		Run:  t.Run,
		Undo: t.Undo,
	}
}
