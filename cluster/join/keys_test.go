package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/site"
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

// TestStoreOfTheFirstHost: the bundle in the registry host's store is the approved one, or enough persons signed it.
func TestStoreOfTheFirstHost(t *testing.T) {
	f, other := bundletest.New(t), bundletest.NewWith(t, "other", bundletest.StandardImages(t)[:1]...)
	second, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := f.Open(t).Attested(bundle.SumsName)
	if err != nil {
		t.Fatal(err)
	}
	h := &Server{
		Signed: map[string][]byte{bundle.SumsName: sums}, Trusted: []*ecdsa.PublicKey{&f.Key.PublicKey, &other.Key.PublicKey, &second.PublicKey},
		Required: []string{site.RequireKeys(2)},
	}
	if err := h.approved(f.Open(t)); err != nil {
		t.Errorf("the approved bundle, in a store without the second signature: %v", err)
	}
	if err := h.approved(other.Open(t)); err == nil || !strings.Contains(err.Error(), "1 of the trusted keys signed it, but 2 must") {
		t.Errorf("another bundle: %v", err)
	}
	if _, err := other.Open(t).Cosign(second); err != nil {
		t.Fatal(err)
	}
	if err := h.approved(other.Open(t)); err != nil {
		t.Errorf("another bundle that two persons signed: %v", err)
	}
}
