package join

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// TestALinkIsNotLaidOut: DIR's airgap.pub becomes a link to the cluster's key before the
// second airgap install DIR. The published files do not contain it.
func TestALinkIsNotLaidOut(t *testing.T) {
	f := bundletest.New(t)
	b := f.Open(t)
	if files, err := SignedFiles(b); err != nil || len(files) != len(bundle.IndexFiles()) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	key := filepath.Join(t.TempDir(), "ca.key")
	public := filepath.Join(f.Dir, bundle.PublicKeyName)
	if err := errors.Join(os.WriteFile(key, []byte("the cluster's key"), 0o600), os.Remove(public), os.Symlink(key, public)); err != nil {
		t.Fatal(err)
	}
	files, err := SignedFiles(b)
	if !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "airgap.pub: it is a symbolic link") || len(files) > 0 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if _, err := bundle.Open(f.Dir, &f.Key.PublicKey); !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "airgap.pub") {
		t.Errorf("open: %v", err)
	}
	if _, err := bundle.ReadSigned(f.Dir, &f.Key.PublicKey); !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "airgap.pub") {
		t.Errorf("the index: %v", err)
	}
	if _, err := bundle.PublicKeyIn(f.Dir); err == nil || strings.Contains(err.Error(), "cluster's key") {
		t.Errorf("the key: %v", err)
	}
}
