package upgraderecord

import (
	"context"

	"airgap.dev/airgap/internal/step"
)

// RecordStep begins an upgrade on a control-plane host.
func RecordStep(to Record) step.Step {
	return step.Step{
		Name: "upgrade-record", Title: "Write down what is upgraded from and to",
		Done: func(context.Context) (bool, error) {
			r, err := Read()
			return r.To.ID == to.To.ID && r.Began.Equal(to.Began), err
		},
		Run: func(context.Context) error { return begin(to) },
	}
}

// RecordedChange reports whether an upgrade has begun to change the first host.
func RecordedChange() (bool, error) {
	r, err := Read()
	return r.Changed, err
}
