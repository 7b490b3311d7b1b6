package main

import (
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestForget takes away what killed runs left as well: the drafts of files that
// no step knows of.
func TestForget(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{
		journalFile, lockFile, measuredFile, host.Draft(versionlockUndo), knownHostsFile, host.Draft(knownHostsFile),
		upgradeRecordFile, upgradeBaselineFile,
	} {
		write(t, filepath.Join(root, name))
	}
	for range 2 { // a reset is run again
		if err := forget(root); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(filepath.Join(root, stateDir)); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

// TestForgetKeepsBackups: the next cluster of this host is amid no upgrade, and what the
// one before it was like may still be wanted.
func TestForgetKeepsBackups(t *testing.T) {
	root := t.TempDir()
	kept := filepath.Join(root, upgradeDir, "before-0123456789ab/20261124T080000Z/etcd.db")
	for _, name := range []string{kept, filepath.Join(root, upgradeRecordFile), filepath.Join(root, upgradeBaselineFile)} {
		write(t, name)
	}
	if err := forget(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(root, upgradeDir)); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestForgetEndsWithTheJournal: as long as something else is there, so is what
// says that a reset has to go on, and the lock that keeps others away.
func TestForgetEndsWithTheJournal(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{journalFile, lockFile, knownHostsFile + "/in the way"} {
		write(t, filepath.Join(root, name))
	}
	if err := forget(root); err == nil {
		t.Error("no word of what stays")
	}
	for _, name := range []string{journalFile, lockFile} {
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
