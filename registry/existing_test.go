package registry

import (
	"os"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry/existing"
)

// TestPushWithTokens: like Harbor, airgap's registry issues tokens for a password, and anonymous
// tokens to pull.
func TestPushWithTokens(t *testing.T) {
	r, _ := startSite(t, bundletest.NewWith(t, "other", bundletest.Image{Name: "docker.io/library/other:1", Held: bundletest.RandomImage(t, 1000, 1, "amd64")}).Open(t))
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	f := bundletest.New(t)
	harbor := existing.Registry{Address: r.addr + "/airgap", CA: string(ca)}
	_, err = harbor.Push(t.Context(), bundle.NewView(f.Open(t)), &authn.Basic{Username: pusher, Password: password}, ui.Discard())
	must(t, err)
	if missing, err := harbor.Missing(t.Context(), f.Open(t).Index().Lock.Images); err != nil || len(missing) > 0 {
		t.Errorf("missing are %v (%v)", missing, err)
	}
}
