package disk

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestHoles: the check for holes does not change the file. The scenario sticks covers
// FAT and exFAT.
func TestHoles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	content := bytes.Repeat([]byte("x"), 10_000)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	holes := hasHoles(f, 10_000)
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, content) {
		t.Errorf("the part has %d bytes, and they changed (holes: %t), %v", len(now), holes, err)
	}
}
