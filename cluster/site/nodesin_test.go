package site

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// TestNodesOfASignedBundle: shell completion offers nodes only from a bundle with the signature of a trusted key.
func TestNodesOfASignedBundle(t *testing.T) {
	f, config := bundletest.New(t), t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	if nodes := NodesIn(f.Dir); len(nodes) > 0 {
		t.Errorf("without a key: %+v", nodes)
	}
	keys := filepath.Join(config, "airgap", "keys")
	public, err := bundle.MarshalPublicKey(&f.Key.PublicKey)
	if err = errors.Join(err, os.MkdirAll(keys, 0o700), os.WriteFile(filepath.Join(keys, bundle.PublicKeyName), public, 0o644)); err != nil {
		t.Fatal(err)
	}
	nodes := NodesIn(t.TempDir(), f.Dir)
	if len(nodes) != 2 || nodes[0].Name != "cp1" || nodes[0].Address != "10.0.0.11" || nodes[1].Name != "w1" || nodes[1].Address != "10.0.0.12" {
		t.Errorf("got %+v", nodes)
	}
	if err := os.WriteFile(filepath.Join(f.Dir, bundle.IndexName), []byte(`{"config": "name: other"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if nodes := NodesIn(f.Dir); len(nodes) > 0 {
		t.Errorf("of a changed index: %+v", nodes)
	}
}
