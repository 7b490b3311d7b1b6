package host

import "testing"

// What it is for is seen where the power is cut: scenarios ownworker and ownkernel.
func TestSync(t *testing.T) {
	if err := Sync(); err != nil {
		t.Error(err)
	}
	done := map[uint64]bool{}
	for range 2 {
		if err := syncFileSystem(t.TempDir(), done); err != nil || len(done) != 1 {
			t.Errorf("%v, %v", done, err)
		}
	}
	if err := syncFileSystem("/nowhere", done); err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
}
