package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// TestTrustStepKeepsWhatWasRequired: written down once, it counts for later
// commands without the flag, until another key is required or the step is taken
// back.
func TestTrustStepKeepsWhatWasRequired(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etc", "required-keys")
	a, b := "SHA256:"+strings.Repeat("a", 64), "SHA256:"+strings.Repeat("b", 64)
	for _, required := range [][]string{{a}, {b, a}, {b}} {
		s := trustStep(file, required)
		if done, err := s.Done(t.Context()); done || err != nil {
			t.Errorf("%v holds before it ran: %v", required, err)
		}
		changes, err := s.Plan(t.Context())
		if err != nil || len(changes) != 1 || !strings.Contains(changes[0], file) {
			t.Errorf("plan: %v, %v", changes, err)
		}
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if done, err := s.Done(t.Context()); !done || err != nil {
			t.Errorf("%v does not hold after it ran: %v", required, err)
		}
		if got, err := recordedKeys(file); err != nil || !slices.Equal(got, required) {
			t.Errorf("recorded %v, %v; want %v", got, err, required)
		}
	}
	if err := trustStep(file, nil).Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := recordedKeys(file); got != nil || err != nil {
		t.Errorf("after the reset: %v, %v", got, err)
	}
	if done, err := trustStep(file, nil).Done(t.Context()); !done || err != nil {
		t.Errorf("where nothing is required the step does not hold: %v", err)
	}
}

// TestSpoiledRecordTrustsNobody: what was required and cannot be read must not
// become "anything goes".
func TestSpoiledRecordTrustsNobody(t *testing.T) {
	for _, text := range []string{"", "\n", "SHA256:12\n", "airgap.pub\n"} {
		file := filepath.Join(t.TempDir(), "required-keys")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := recordedKeys(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestRequiredKeyComesWithTheBundle: a fingerprint is enough, because the bundle
// brings its key; another bundle's key is named in the refusal.
func TestRequiredKeyComesWithTheBundle(t *testing.T) {
	one, other := bundletest.New(t), bundletest.New(t)
	fingerprint := bundle.Fingerprint(&one.Key.PublicKey)
	t1, err := trustedKeys([]string{fingerprint, strings.ToLower(fingerprint)}, one.Dir)
	if err != nil || len(t1.keys) != 1 || !one.Key.PublicKey.Equal(t1.keys[0]) || !slices.Equal(t1.required, []string{fingerprint}) {
		t.Fatalf("got %+v, %v", t1, err)
	}
	_, err = trustedKeys([]string{fingerprint}, other.Dir)
	if err == nil || !strings.Contains(err.Error(), fingerprint) || !strings.Contains(err.Error(), bundle.Fingerprint(&other.Key.PublicKey)) {
		t.Errorf("got %v, want both fingerprints", err)
	}
	if _, err := trustedKeys([]string{fingerprint}); err == nil {
		t.Error("a key that is nowhere was found")
	}
}

// TestJoiningHostHoldsToTheKey reads the signed index of a registry host as a
// joining one does: the key comes with it, its fingerprint from the join line.
func TestJoiningHostHoldsToTheKey(t *testing.T) {
	one, other := bundletest.New(t), bundletest.New(t)
	server := httptest.NewTLSServer(http.StripPrefix("/join/", http.FileServer(http.Dir(one.Dir))))
	defer server.Close()
	fingerprint, wrong := bundle.Fingerprint(&one.Key.PublicKey), bundle.Fingerprint(&other.Key.PublicKey)
	h := &hub{addr: server.Listener.Addr().String(), client: server.Client()}
	if err := h.readIndex(t.Context(), []string{fingerprint}); err != nil {
		t.Fatal(err)
	}
	if h.index == nil || !slices.Equal(h.required, []string{fingerprint}) || h.signed[bundle.PublicKeyName] == nil {
		t.Errorf("got %+v", h)
	}
	err := h.readIndex(t.Context(), []string{wrong})
	if err == nil || !strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), fingerprint) {
		t.Errorf("got %v, want both fingerprints", err)
	}
}

// TestRequiredKeysGoToOtherHosts: what the first server requires goes to the others.
func TestRequiredKeysGoToOtherHosts(t *testing.T) {
	got := requireFlags([]string{"SHA256:aa", "SHA256:bb"})
	if !slices.Equal(got, []string{"--require-key", "SHA256:aa", "--require-key", "SHA256:bb"}) {
		t.Errorf("got %q", got)
	}
	if !slices.Contains(indexFiles(), bundle.PublicKeyName) {
		t.Error("a joining host that knows a fingerprint does not get the key")
	}
}
