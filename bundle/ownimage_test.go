package bundle_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// TestOwnImage: an image that this host created is in the bundle like any other.
func TestOwnImage(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	own := bundletest.Image{Name: "airgap.dev/airgap:v1", Held: bundletest.RandomImage(t, 20_000, 2, "amd64")}
	request := u.request(images...)
	request.Own = []bundle.OwnImage{{
		Need: bundle.Need{Reference: own.Name, NeededBy: "verify"}, Make: func() (v1.Image, error) { return own.Held, nil },
	}}
	plan, err := bundle.NewPlan(t.Context(), u.client(t), request, ui.Discard())
	must(t, err)
	o, dir := options(t), filepath.Join(t.TempDir(), "stick")
	_, err = bundle.Write(t.Context(), plan, dir, o, ui.Discard())
	must(t, err)
	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	must(t, err)
	defer b.Close()
	must(t, b.Verify(t.Context(), ui.Discard()))
	wantImages(t, extract(t, dir), append([]bundletest.Image{own}, images...))

	// Another program gives another image with the same lock.
	other := bundletest.RandomImage(t, 20_000, 1, "amd64")
	request.Own[0].Make = func() (v1.Image, error) { return other, nil }
	request.Locked = &bundle.Locked{Lock: plan.Lock}
	again, err := bundle.NewPlan(t.Context(), u.client(t), request, ui.Discard())
	must(t, err)
	if digest, err := other.Digest(); err != nil || again.Lock.Images[0].Digest != digest.String() || len(again.Moved) > 0 {
		t.Errorf("the lock has %s, want %s (%v); moved: %v", again.Lock.Images[0].Digest, digest, err, again.Moved)
	}
}

func TestOwnImageRefused(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	for name, test := range map[string]struct {
		own  bundle.OwnImage
		want string
	}{
		"in airgap.yaml": {bundle.OwnImage{Need: bundle.Need{Reference: images[0].Name}}, "airgap adds this image automatically"},
		"not made": {bundle.OwnImage{
			Need: bundle.Need{Reference: "airgap.dev/airgap:v1"}, Make: func() (v1.Image, error) { return nil, errors.New("no static program") },
		}, "image airgap.dev/airgap:v1: no static program"},
		"no name": {bundle.OwnImage{Need: bundle.Need{Reference: "airgap.dev/Airgap:v1"}}, "image reference"},
	} {
		t.Run(name, func(t *testing.T) {
			request := u.request(images...)
			request.Own = []bundle.OwnImage{test.own}
			if _, err := bundle.NewPlan(t.Context(), u.client(t), request, ui.Discard()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
