package site

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenMissingDirectory: without the directory, the error is not about keys. The drive may not be
// mounted.
func TestOpenMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stick", "bank")
	if _, _, err := Open(dir, nil); err == nil || !strings.Contains(err.Error(), dir+": no such file or directory") || strings.Contains(err.Error(), "key") {
		t.Errorf("got %v", err)
	}
}

// TestStoredWithoutCluster: on a host without a cluster, the error is not about keys.
func TestStoredWithoutCluster(t *testing.T) {
	if Exists(StoreDir) {
		t.Skipf("this host has %s", StoreDir)
	}
	if _, err := Stored(nil, ""); err == nil || !strings.Contains(err.Error(), "no bundle in "+StoreDir) || strings.Contains(err.Error(), "key") {
		t.Errorf("got %v", err)
	}
}
