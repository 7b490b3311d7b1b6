package install

import (
	"context"
	"fmt"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

// RefuseUpgrade keeps airgap install from what takes more care.
func RefuseUpgrade(ctx context.Context, s *site.Site, dir string) error {
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return err
	}
	return advice.Add(fmt.Errorf("install %s: this cluster has %s", dir, reason), "airgap upgrade %s brings it there, one host after the other", dir)
}
