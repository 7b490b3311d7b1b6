package bundle_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/bundle"
)

// TestWriteSigned: names that are invalid in SHA256SUMS, the name of the key, and an
// existing directory are refused.
func TestWriteSigned(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../outside", "two words", "", bundle.PublicKeyName} {
		if err := bundle.WriteSigned(filepath.Join(t.TempDir(), "out"), []bundle.StickFile{bundle.StickBytes(name, nil)}, key); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	source := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(source, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := bundle.StickProgram("program", source)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := bundle.WriteSigned(dir, []bundle.StickFile{program}, key); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "program")); err != nil || info.Mode() != 0o755 {
		t.Errorf("a program with mode 0700 has mode %v in the release, %v", info, err)
	}
	if err := bundle.WriteSigned(dir, nil, key); err == nil {
		t.Error("an existing directory was overwritten")
	}
}
