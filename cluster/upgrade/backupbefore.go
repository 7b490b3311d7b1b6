package upgrade

import (
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
)

// haveBackups returns the control-plane hosts with a backup from before the upgrade, right before the first change: this
// host, and those that are prepared. A host that joins later takes one of a half upgraded cluster.
func (u *upgrade) haveBackups() []string {
	names := []string{u.site.Node.Name}
	for _, n := range u.site.Config.Nodes {
		node, joined := u.nodes[n.Name]
		if joined && n.Name != u.site.Node.Name && n.Has(config.ControlPlane) && site.Noted(&node, site.PreparedNote, u.target) == nil {
			names = append(names, n.Name)
		}
	}
	return names
}

// useCopy is the hint for a host that needs the backup of another one.
const useCopy = "replace this host's backup with an unchanged copy of that, and name the key of that host, which airgap status prints there: " +
	"airgap rollback --backup-key SHA256:…"

// checkBackupTime returns an error if the backup is of a half upgraded cluster: this host joined during the upgrade and
// took it over.
func checkBackupTime(s *site.Site, r upgraderecord.Record, taken time.Time) error {
	if !r.TooLate(taken) {
		return nil
	}
	err := fmt.Errorf("roll back the last upgrade: the backup of %s is of %s, and the upgrade changed the first host at %s: it is not of the state before the upgrade",
		s.Node.Name, at(taken), at(r.ChangedAt))
	dir := upgraderecord.BackupsBefore(r.To.ID).Dir
	if others := othersWithBackup(s, r); len(others) > 0 {
		return advice.Add(err, "%s took one before, in %s: %s", hostrange.Join(others), dir, useCopy)
	}
	return advice.Add(err, "the hosts that took one before are no longer in the cluster (%s); use a copy of theirs, or restore the cluster from another backup: airgap restore",
		hostrange.Join(r.Backups))
}

// othersWithBackup returns the other hosts of the cluster that took their backup before the first change.
func othersWithBackup(s *site.Site, r upgraderecord.Record) []string {
	return slices.DeleteFunc(slices.Clone(r.Backups), func(name string) bool {
		return name == s.Node.Name || slices.Contains(s.Removed, name)
	})
}

func at(t time.Time) string { return t.Local().Format(time.DateTime) }

// onlyOthersHaveBackup reports whether a rollback on this host needs the backup of another one.
func onlyOthersHaveBackup(r upgraderecord.Record, node string) bool {
	return r.Changed && len(r.Backups) > 0 && !slices.Contains(r.Backups, node)
}

// warnOfBackup says, when a host continues an upgrade, that only other hosts have a backup for its rollback.
func warnOfBackup(r upgraderecord.Record, node string, say func(string, ...any)) {
	if onlyOthersHaveBackup(r, node) {
		say("%s joined after the upgrade changed a host, so its backup cannot roll the upgrade back: keep that of %s in %s",
			node, hostrange.Join(r.Backups), upgraderecord.BackupsBefore(r.To.ID).Dir)
	}
}
