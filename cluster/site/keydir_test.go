package site

import (
	"os"
	"path/filepath"
	"testing"

	"airgap.dev/airgap/bundle"
)

// TestDefaultKeyDir: without a home directory there is no default, and no key of the working directory
// is trusted.
func TestDefaultKeyDir(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ home, config, want string }{
		{"/home/me", "", "/home/me/.config/airgap/keys"},
		{"/home/me", "/etc/me", "/etc/me/airgap/keys"},
		{"", "/etc/me", "/etc/me/airgap/keys"},
		{"", "", ""},
		{"me", "", ""},
		{"/home/me", "me", ""},
	} {
		t.Setenv("HOME", c.home)
		t.Setenv("XDG_CONFIG_HOME", c.config)
		if got := DefaultKeyDir(); got != c.want {
			t.Errorf("HOME=%s XDG_CONFIG_HOME=%s: %q, want %q", c.home, c.config, got, c.want)
		}
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	for _, dir := range []string{".", "airgap/keys"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, bundle.PublicKeyName), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := defaultKeys(); err == nil || len(keys) > 0 || err.Error() != "no key to check the bundle's signature with" {
		t.Errorf("trusts %v: %v", keys, err)
	}
}
