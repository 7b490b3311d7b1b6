package upgrade

import (
	"context"
	"errors"
	"fmt"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/backup"
)

// repairTorn restores control-plane files that a power loss has damaged during an upgrade, from the
// backup from before it. Without them the control plane does not start. It first waits for a kubeadm
// that an interrupted airgap has left running: files that kubeadm is replacing also look damaged.
func repairTorn(ctx context.Context, s *site.Site, p ui.Progress) error {
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return err
	}
	r, err := upgraderecord.Read()
	if err != nil || !r.InProgress() || r.To.ID != s.Index.ID() {
		return err
	}
	newest, err := upgraderecord.BackupsBefore(r.To.ID).Newest()
	if err != nil || newest == nil { // the upgrade had not reached the backup
		return err
	}
	if err := hostcheck.AtRest(ctx, s, p); err != nil {
		return err
	}
	trust, err := backup.KeyDir(site.BackupKeys).Trust()
	if err != nil {
		return err
	}
	c, err := backup.Open(newest.Dir, trust)
	if errors.Is(err, backup.ErrUnsigned) {
		p.Say("warning: %v; no file is restored from it", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the backup from before the interrupted upgrade: %w", err)
	}
	repaired, err := c.RepairTorn("/")
	for _, file := range repaired {
		p.Say("%s: restored from the backup from before the upgrade, because a power loss had damaged it", file)
	}
	return err
}
