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

// TestWriteSigned: names that SHA256SUMS could not hold, or that are the key's, are
// refused, and so is a directory that is there.
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
		t.Errorf("a program that its builder alone may run is handed on as %v, %v", info, err)
	}
	if err := bundle.WriteSigned(dir, nil, key); err == nil {
		t.Error("a directory was written to again")
	}
}
