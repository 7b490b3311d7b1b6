package bundle

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHoles: asking for them takes nothing away. What FAT and exFAT answer is
// seen in scenario sticks.
func TestHoles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	if err := os.WriteFile(path, make([]byte, 10_000), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !hasHoles(f, 10_000) {
		t.Skip("this file system has no holes")
	}
	if info, err := f.Stat(); err != nil || info.Size() != 10_000 {
		t.Errorf("the part has %d bytes now, %v", info.Size(), err)
	}
}
