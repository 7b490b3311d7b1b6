package site

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
)

// TestMustBeInstalled: each state of airgap on a host is enough, also the empty store of an interrupted
// import. The directories of airgap.rpm are not.
func TestMustBeInstalled(t *testing.T) {
	for path, installed := range map[string]bool{
		StateDir: false, TrustDir: false, LogDir: false,
		JournalFile: true, StoreDir: true, IndexDir: true, PKIDir: true,
	} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
			t.Fatal(err)
		}
		err := mustBeInstalled(root, "certs renew")
		if (err == nil) != installed || !installed && !errors.Is(err, ErrNotInstalled) {
			t.Errorf("%s: %v", path, err)
		}
	}
	err := mustBeInstalled(t.TempDir(), "certs renew")
	if err == nil || !strings.HasPrefix(err.Error(), "airgap certs renew: airgap is not installed on this host") || !strings.Contains(advice.Of(err), "run airgap certs renew on a host of the cluster") {
		t.Errorf("%v; %s", err, advice.Of(err))
	}
}
