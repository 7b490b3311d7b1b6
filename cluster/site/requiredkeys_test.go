package site

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// TestSpoiledRecordTrustsNobody: a file of required keys with invalid content is an error. airgap does not
// then trust other keys.
func TestSpoiledRecordTrustsNobody(t *testing.T) {
	for _, text := range []string{"", "\n", "SHA256:12\n", "airgap.pub\n"} {
		file := filepath.Join(t.TempDir(), "required-keys")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := RecordedKeys(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestRequiredKeyComesWithTheBundle: a fingerprint is sufficient, because the bundle contains the public key.
// If a bundle has a different key, the error contains both fingerprints.
func TestRequiredKeyComesWithTheBundle(t *testing.T) {
	one, other := bundletest.New(t), bundletest.New(t)
	fingerprint := bundle.Fingerprint(&one.Key.PublicKey)
	t1, err := TrustedKeys([]string{fingerprint, strings.ToLower(fingerprint)}, one.Dir)
	if err != nil || len(t1.Keys) != 1 || !one.Key.PublicKey.Equal(t1.Keys[0]) || !slices.Equal(t1.Required, []string{fingerprint}) {
		t.Fatalf("got %+v, %v", t1, err)
	}
	_, err = TrustedKeys([]string{fingerprint}, other.Dir)
	if err == nil || !strings.Contains(err.Error(), fingerprint) || !strings.Contains(err.Error(), bundle.Fingerprint(&other.Key.PublicKey)) {
		t.Errorf("got %v, want both fingerprints", err)
	}
	if _, err := TrustedKeys([]string{fingerprint}); err == nil {
		t.Error("found a key that is in no directory")
	}
}
