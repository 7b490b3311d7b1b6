package install

import (
	"context"
	"fmt"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// RefuseUpgrade refuses changes that need airgap upgrade.
func RefuseUpgrade(ctx context.Context, s *site.Site, dir string) error {
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return err
	}
	return advice.Add(fmt.Errorf("install %s: this cluster has %s", dir, reason), "run airgap upgrade %s, which upgrades one host after another", ui.Quote(dir))
}
