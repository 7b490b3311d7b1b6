package dnf

import (
	"context"

	"airgap.dev/airgap/internal/step"
)

// plan lists the packages to install. dnf does not run if it would change more.
func (t Transaction) plan(ctx context.Context) ([]string, error) {
	missing, err := t.Missing(ctx)
	changes := names(missing)
	for i := range changes {
		changes[i] = "install " + changes[i]
	}
	if t.interrupted() {
		changes = append(changes, "reinstall the packages of the interrupted dnf transaction")
	}
	return changes, err
}

// PackagesStep installs the packages of the lock.
func PackagesStep(t Transaction) step.Step {
	return step.Step{
		Name:  "packages",
		Title: "Install packages",
		Done: func(ctx context.Context) (bool, error) {
			missing, err := t.Missing(ctx)
			return len(missing) == 0 && !t.interrupted(), err
		},
		Plan: t.plan,
		Run:  t.Run,
		Undo: t.Undo,
	}
}
