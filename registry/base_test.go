package registry

import (
	"crypto/ecdsa"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// TestWithout: a delta reads its files from the remaining bundles, even if a removed newer bundle has
// the same files. Without its base the delta cannot be opened.
func TestWithout(t *testing.T) {
	base := bundletest.New(t)
	delta := base.Delta(t, "delta", base.Images...)
	complete := bundletest.NewWith(t, "complete", base.Images...)
	s := Store{Dir: t.TempDir()}
	trusted := []*ecdsa.PublicKey{&base.Key.PublicKey, &complete.Key.PublicKey}
	for _, f := range []*bundletest.Fixture{base, delta, complete} {
		_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), trusted...)
		must(t, err)
	}
	for _, removed := range []string{"complete", "test", "neither"} {
		v, err := s.Without("delta", func(b *bundle.Bundle) bool { return b.Index().Name == removed }, trusted...)
		must(t, err)
		for _, b := range v.Bundles() {
			if b.Index().Name == removed {
				t.Errorf("without %s: the view still reads from it", removed)
			}
		}
		v.Close()
	}
	if _, err := s.Without("delta", func(b *bundle.Bundle) bool { return !b.Index().IsDelta() }, trusted...); err == nil {
		t.Error("without its base, the delta was opened")
	}
}
