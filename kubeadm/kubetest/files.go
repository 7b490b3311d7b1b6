package kubetest

import (
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
)

// Mode returns the permissions of a file of the host.
func Mode(t *testing.T, f *hosttest.Fake, name string) os.FileMode {
	t.Helper()
	info, err := os.Stat(filepath.Join(f.Root, name))
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
