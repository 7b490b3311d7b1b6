package rpm

import (
	"context"

	"airgap.dev/airgap/internal/step"
)

// plan names the packages that are added; nothing else changes, or dnf does
// not run.
func (t Transaction) plan(ctx context.Context) ([]string, error) {
	missing, err := t.Missing(ctx)
	changes := names(missing)
	for i := range changes {
		changes[i] = "install " + changes[i]
	}
	if t.cut() {
		changes = append(changes, "install again what dnf had installed when its transaction was cut")
	}
	return changes, err
}

// PackagesStep installs the lock's packages.
func PackagesStep(t Transaction) step.Step {
	return step.Step{
		Name:  "packages",
		Title: "Install packages",
		Done: func(ctx context.Context) (bool, error) {
			missing, err := t.Missing(ctx)
			return len(missing) == 0 && !t.cut(), err
		},
		Plan: t.plan,
		Run:  t.Run,
		Undo: t.Undo,
	}
}
