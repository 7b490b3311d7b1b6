package registry

import (
	"crypto/ecdsa"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// TestWithout: a delta is read from the bundles that stay, though a newer one that goes has the
// same files; without a base that stays it is none.
func TestWithout(t *testing.T) {
	base := bundletest.New(t)
	delta := base.Delta(t, "delta", base.Images...)
	whole := bundletest.NewWith(t, "whole", base.Images...)
	s := Store{Dir: t.TempDir()}
	trusted := []*ecdsa.PublicKey{&base.Key.PublicKey, &whole.Key.PublicKey}
	for _, f := range []*bundletest.Fixture{base, delta, whole} {
		_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), trusted...)
		must(t, err)
	}
	for _, goes := range []string{"whole", "test", "neither"} {
		v, err := s.Without("delta", func(b *bundle.Bundle) bool { return b.Index().Name == goes }, trusted...)
		must(t, err)
		for _, b := range v.Bundles() {
			if b.Index().Name == goes {
				t.Errorf("without %s: it is read from it", goes)
			}
		}
		v.Close()
	}
	if _, err := s.Without("delta", func(b *bundle.Bundle) bool { return !b.Index().IsDelta() }, trusted...); err == nil {
		t.Error("without any base it is whole")
	}
}
