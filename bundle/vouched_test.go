package bundle_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

func TestVouched(t *testing.T) {
	f := bundletest.New(t)
	b, err := bundle.Open(f.Dir, &f.Key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Attested(bundle.IndexName); err != nil {
		t.Error(err)
	}
	if _, err := b.Attested("nobody.rpm"); err == nil {
		t.Error("an unsigned file was accepted")
	}
	if err := os.WriteFile(filepath.Join(f.Dir, bundle.IndexName), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Attested(bundle.IndexName); !errors.Is(err, bundle.ErrDamaged) {
		t.Errorf("a replaced file: %v", err)
	}
}
