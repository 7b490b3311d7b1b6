package join

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// TestJoiningHostHoldsToTheKey reads the signed index of a registry host as a
// joining one does: the key comes with it, its fingerprint from the join line.
func TestJoiningHostHoldsToTheKey(t *testing.T) {
	one, other := bundletest.New(t), bundletest.New(t)
	server := httptest.NewTLSServer(http.StripPrefix("/join/", http.FileServer(http.Dir(one.Dir))))
	defer server.Close()
	fingerprint, wrong := bundle.Fingerprint(&one.Key.PublicKey), bundle.Fingerprint(&other.Key.PublicKey)
	h := &Server{Addr: server.Listener.Addr().String(), client: server.Client()}
	if err := h.readIndex(t.Context(), []string{fingerprint}); err != nil {
		t.Fatal(err)
	}
	if h.Index == nil || !slices.Equal(h.Required, []string{fingerprint}) || h.Signed[bundle.PublicKeyName] == nil {
		t.Errorf("got %+v", h)
	}
	err := h.readIndex(t.Context(), []string{wrong})
	if err == nil || !strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), fingerprint) {
		t.Errorf("got %v, want both fingerprints", err)
	}
}

// TestRequiredKeysGoToOtherHosts: keys that the first server requires are also required by the others.
func TestRequiredKeysGoToOtherHosts(t *testing.T) {
	got := RequireFlags([]string{"SHA256:aa", "SHA256:bb"})
	if !slices.Equal(got, []string{"--require-key", "SHA256:aa", "--require-key", "SHA256:bb"}) {
		t.Errorf("got %q", got)
	}
	if !slices.Contains(bundle.IndexFiles(), bundle.PublicKeyName) {
		t.Error("a joining host that knows a fingerprint does not get the key")
	}
}
