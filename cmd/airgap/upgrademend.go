package main

import (
	"fmt"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/backup"
)

// mendTorn puts back, from the backup of before the upgrade, what a power cut amid it
// has torn of this host's control plane: without it that does not come back, and nobody
// could be asked how to go on. It is for a host that is being upgraded to the bundle.
func mendTorn(id string, p ui.Progress) error {
	r, err := readUpgradeRecord()
	if err != nil || !r.under() || r.To.ID != id {
		return err
	}
	newest, err := backupsBefore(id).Newest()
	if err != nil || newest == nil { // it had not come so far
		return err
	}
	c, err := backup.Open(newest.Dir)
	if err != nil {
		return fmt.Errorf("look what the interrupted upgrade left: %w", err)
	}
	mended, err := c.Mend("/")
	for _, file := range mended {
		p.Say("%s: put back as it was before the upgrade; a power cut had torn it", file)
	}
	return err
}
