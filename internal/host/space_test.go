package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestBytesBelow: files at every depth count, links and missing files do not.
func TestBytesBelow(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "deep/er"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"one": 3, "deep/er/two": 4} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("one", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]int64{dir: 7, filepath.Join(dir, "deep"): 4, filepath.Join(dir, "nowhere"): 0} {
		if got, err := host.BytesBelow(at); got != want || err != nil {
			t.Errorf("%s has %d bytes, %v, want %d", at, got, err, want)
		}
	}
}
