package host

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

func TestSyncLatency(t *testing.T) {
	dir := t.TempDir()
	took, err := SyncLatency(t.Context(), dir, 100*time.Millisecond)
	if err != nil || took <= 0 {
		t.Errorf("%v, %v", took, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := SyncLatency(t.Context(), dir+"/none", time.Second); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := SyncLatency(stopped, dir, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
