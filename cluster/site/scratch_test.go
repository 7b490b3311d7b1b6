package site

import (
	"os"
	"path/filepath"
	"testing"
)

// TestScratch: Scratch keeps directories in use, removes those of killed processes, and does not touch other
// directories.
func TestScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first, removeFirst, err := Scratch("dnf")
	if err != nil {
		t.Fatal(err)
	}
	abandoned := filepath.Join(os.TempDir(), "airgap-dnf-123")
	others := filepath.Join(os.TempDir(), "airgap-notes")
	for _, dir := range []string{abandoned, others} {
		if err := os.MkdirAll(filepath.Join(dir, "cache"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	trap := filepath.Join(os.TempDir(), "airgap-dnf-trap") // a symlink to a directory of another program
	if err := os.Symlink(others, trap); err != nil {
		t.Fatal(err)
	}
	second, removeSecond, err := Scratch("dnf")
	if err != nil || second == first {
		t.Fatalf("%s, %v", second, err)
	}
	for dir, want := range map[string]bool{first: true, second: true, others: true, filepath.Join(others, "cache"): true, abandoned: false} {
		if Exists(dir) != want {
			t.Errorf("%s exists: %v", dir, !want)
		}
	}
	removeFirst()
	removeSecond()
	if Exists(first) || Exists(second) {
		t.Error("a directory still exists after its removal")
	}
}
