package upgraderecord

import (
	"context"

	"airgap.dev/airgap/internal/step"
)

// RecordStep returns the step that starts an upgrade on a control-plane host.
func RecordStep(to Record) step.Step {
	return step.Step{
		Name: "upgrade-record", Title: "Record the bundles and versions of the upgrade",
		Done: func(context.Context) (bool, error) {
			r, err := Read()
			return r.To.ID == to.To.ID && r.Began.Equal(to.Began), err
		},
		Run: func(context.Context) error { return begin(to) },
	}
}

// RecordedChange reports whether an upgrade has started to change the first host.
func RecordedChange() (bool, error) {
	r, err := Read()
	return r.Changed, err
}
