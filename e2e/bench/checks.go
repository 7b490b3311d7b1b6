package bench

import (
	"context"
	"time"
)

// checks measures how long a server takes to judge itself.
func (b *bench) checks(ctx context.Context, w *figures) error {
	took, err := b.LocalChecks(ctx)
	if err != nil {
		return err
	}
	seconds("local-checks", took, "limit", 2*time.Second, 1.0).print(w)
	return nil
}
