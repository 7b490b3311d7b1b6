package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/rpm"
)

// TestCompletionsAreRead has each shell read what airgap.rpm brings for it, and bash offer
// the commands by it.
func TestCompletionsAreRead(t *testing.T) {
	files, err := documentation(time.Unix(1_600_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, shell := range map[string][]string{
		"/usr/share/bash-completion/completions/airgap":    {"bash", "-n"},
		"/usr/share/zsh/site-functions/_airgap":            {"zsh", "-n"},
		"/usr/share/fish/vendor_completions.d/airgap.fish": {"fish", "--no-execute"},
	} {
		t.Run(shell[0], func(t *testing.T) {
			bundletest.Need(t, shell[0])
			script := fileOf(t, files, name)
			if len(script) < 1000 {
				t.Errorf("%s has %d bytes", name, len(script))
			}
			reads := func(text []byte) ([]byte, error) {
				file := filepath.Join(t.TempDir(), path.Base(name))
				if err := os.WriteFile(file, text, 0o644); err != nil {
					t.Fatal(err)
				}
				return exec.CommandContext(t.Context(), shell[0], append(shell[1:], file)...).CombinedOutput()
			}
			if out, err := reads(script); err != nil || len(out) > 0 {
				t.Errorf("%s %s: %v: %s", shell[0], name, err, out)
			}
			if out, err := reads(append(script, "\nif true (\n"...)); err == nil {
				t.Errorf("%s takes half a line, so it proves nothing: %s", shell[0], out)
			}
		})
	}
}

func fileOf(t *testing.T, files []rpm.File, name string) []byte {
	t.Helper()
	for _, f := range files {
		if f.Path == name {
			return f.Data
		}
	}
	t.Fatalf("there is no %s in the package", name)
	return nil
}
