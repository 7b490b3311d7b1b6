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

// mendTorn puts back, from the backup of before the upgrade that this host is amid, what
// a power cut has torn of its control plane: without it that does not come back, and
// nobody could be asked how to go on. A kubeadm that outlived its airgap is waited for
// first: what it is exchanging looks torn, too.
func mendTorn(ctx context.Context, s *site.Site, p ui.Progress) error {
	reason, err := s.Behind(ctx)
	if err != nil || reason == "" {
		return err
	}
	r, err := upgraderecord.Read()
	if err != nil || !r.Under() || r.To.ID != s.Index.ID() {
		return err
	}
	newest, err := upgraderecord.BackupsBefore(r.To.ID).Newest()
	if err != nil || newest == nil { // it had not come so far
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
		p.Say("warning: %v; nothing is put back from it", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look what the interrupted upgrade left: %w", err)
	}
	mended, err := c.Mend("/")
	for _, file := range mended {
		p.Say("%s: put back as it was before the upgrade; a power cut had torn it", file)
	}
	return err
}
