package host_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
)

func TestAwaitLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	never := func() { t.Error("it waits without a lock") }
	if err := host.AwaitLock(t.Context(), path, never); err != nil {
		t.Errorf("no file: %v", err)
	}
	// "held" is said when the lock is.
	holder := exec.CommandContext(t.Context(), "flock", path, "sh", "-c", "echo held; sleep 0.5")
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := host.AwaitLock(short, path, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it is held: %v", err)
	}
	said := 0
	if err := host.AwaitLock(t.Context(), path, func() { said++ }); err != nil || said != 1 {
		t.Errorf("waiting was said %d times; %v", said, err)
	}
	if err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := host.AwaitLock(t.Context(), path, never); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
