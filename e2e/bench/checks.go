package bench

import (
	"context"
	"time"

	"airgap.dev/airgap/e2e/scenario"
)

// checks measures how long the local checks of a server take.
func (b *bench) checks(ctx context.Context, w *figures) error {
	took, err := scenario.LocalChecks(ctx, b.Env)
	if err != nil {
		return err
	}
	seconds("local-checks", took, "limit", 2*time.Second, 1.0).print(w)
	return nil
}
