package bundle

import (
	"os"
	"strings"
	"testing"
)

func TestSigningKey(t *testing.T) {
	dir := t.TempDir()
	key, err := LoadOrCreateKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadOrCreateKey(dir)
	if err != nil || !key.Equal(again) {
		t.Errorf("the second time: %v", err)
	}
	public, err := LoadPublicKey(dir + "/airgap.pub")
	if err != nil || Fingerprint(public) != Fingerprint(&key.PublicKey) {
		t.Errorf("public half: %v", err)
	}
	openToAll(t, dir+"/airgap.key")
	if _, err := LoadOrCreateKey(dir); err == nil || !strings.Contains(err.Error(), "want 0600") {
		t.Errorf("a world-readable key: %v", err)
	}
}

func openToAll(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
}
