package program

import (
	"crypto/ecdsa"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
)

// TestNoKeysInTheWorkingDirectory: without a home directory, CheckKeys refuses, and reads no key that lies in
// the working directory.
func TestNoKeysInTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ home, config, want string }{
		{"", "", "HOME is not set"},
		{"me", "", `HOME is "me", which is not an absolute path`},
		{"/home/me", "me", `XDG_CONFIG_HOME is "me"`},
	} {
		t.Setenv("HOME", c.home)
		t.Setenv("XDG_CONFIG_HOME", c.config)
		_, err := CheckKeys(t.Context(), KeyOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !advice.IsUsage(err) || !strings.Contains(advice.Of(err), "set --keys") {
			t.Errorf("HOME=%s: %v (%s)", c.home, err, advice.Of(err))
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("the working directory has %v, %v", left, err)
	}
}

// TestCanMake: a home directory that cannot be written is refused before the plan.
func TestCanMake(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		filepath.Join(dir, "a/b/c"): "",
		filepath.Join(file, "b"):    "not a directory",
	} {
		err := (&Keys{}).CanMake(at)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", at, err)
		}
	}
	keys := &Keys{Bundle: &ecdsa.PrivateKey{}, RPM: &rpm.Key{}}
	if err := keys.CanMake(filepath.Join(file, "b")); err != nil {
		t.Errorf("nothing to make: %v", err)
	}
}
