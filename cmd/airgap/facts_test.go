package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"airgap.dev/airgap/bundle/delta"
	"airgap.dev/airgap/bundle/plan"
	"airgap.dev/airgap/cluster/hostcheck"
)

// TestFactsAndReceiptsAreRegularFiles: facts, receipts and reports come from servers on a USB drive,
// which can contain links to files of this host, and FIFOs.
func TestFactsAndReceiptsAreRegularFiles(t *testing.T) {
	dir := t.TempDir()
	link, fifo := filepath.Join(dir, "link.facts.yaml"), filepath.Join(dir, "fifo.survey")
	if err := errors.Join(os.Symlink("/etc/hostname", link), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{link: "a symbolic link", fifo: "no regular file"} {
		if _, err := plan.LoadFacts(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("facts: %v", err)
		}
		if _, err := (delta.Options{From: path, Own: dir}).Inventory(); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("receipt: %v", err)
		}
		if _, err := hostcheck.ReadReports([]string{path}); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("report: %v", err)
		}
	}
}
