package reset

import (
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/host"
)

// TestForget: forget also removes the temporary files of killed runs, which no step removes.
func TestForget(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{
		site.JournalFile, site.LockFile, site.MeasuredFile, site.OwedFile, site.OwedUnsent, site.OthersReset, host.Draft(site.VersionlockUndo),
		site.KnownHostsFile, host.Draft(site.KnownHostsFile),
		upgraderecord.UpgradeRecordFile, upgraderecord.UpgradeBaselineFile,
		filepath.Join(site.UpgradeDir, upgraderecord.ElsewhereFile), filepath.Join(site.UpgradeDir, upgraderecord.RanDir, "w1.json"),
	} {
		write(t, filepath.Join(root, name))
	}
	for range 2 { // the second run finds no files
		if err := forget(root); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(filepath.Join(root, site.StateDir)); err != nil || len(left) > 0 {
			t.Errorf("leftover files: %v, %v", left, err)
		}
	}
}

// TestForgetKeepsBackups: forget removes the record of an upgrade, and keeps the backup from before it.
func TestForgetKeepsBackups(t *testing.T) {
	root := t.TempDir()
	kept := filepath.Join(root, site.UpgradeDir, "before-0123456789ab/20261124T080000Z/etcd.db")
	for _, name := range []string{kept, filepath.Join(root, upgraderecord.UpgradeRecordFile), filepath.Join(root, upgraderecord.UpgradeBaselineFile)} {
		write(t, name)
	}
	if err := forget(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(root, site.UpgradeDir)); err != nil || len(left) != 1 {
		t.Errorf("leftover files: %v, %v", left, err)
	}
}

// TestForgetEndsWithTheJournal: the journal and the lock stay until all other files are removed, so that an
// interrupted reset can continue.
func TestForgetEndsWithTheJournal(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{site.JournalFile, site.LockFile, site.KnownHostsFile + "/file"} {
		write(t, filepath.Join(root, name))
	}
	if err := forget(root); err == nil {
		t.Error("no error for a file that stays")
	}
	for _, name := range []string{site.JournalFile, site.LockFile} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := host.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
