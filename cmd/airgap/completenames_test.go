package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// TestNodesOfASignedBundle: a shell is offered what a trusted key signed.
func TestNodesOfASignedBundle(t *testing.T) {
	f, config := bundletest.New(t), t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	if names := nodesIn(f.Dir); len(names) > 0 {
		t.Errorf("without a key: %q", names)
	}
	keys := filepath.Join(config, "airgap", "keys")
	public, err := bundle.MarshalPublicKey(&f.Key.PublicKey)
	if err = errors.Join(err, os.MkdirAll(keys, 0o700), os.WriteFile(filepath.Join(keys, bundle.PublicKeyName), public, 0o644)); err != nil {
		t.Fatal(err)
	}
	if names := nodesIn(f.Dir); !slices.Equal(names, []string{"cp1\t10.0.0.11", "w1\t10.0.0.12"}) {
		t.Errorf("got %q", names)
	}
	if err := os.WriteFile(filepath.Join(f.Dir, bundle.IndexName), []byte(`{"config": "name: other"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if names := nodesIn(f.Dir); len(names) > 0 {
		t.Errorf("of a changed index: %q", names)
	}
}
