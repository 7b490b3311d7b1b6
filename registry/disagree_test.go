package registry

import (
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

func TestDisagreements(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	bundles := []*bundle.Bundle{base.Open(t), delta.Open(t)}
	older, err := base.Images[0].Held.Digest()
	must(t, err)
	newer, err := delta.Images[0].Held.Digest()
	must(t, err)
	want := Disagreement{"docker.io/library/nginx:1.27", "test-delta-1", newer.String(), "test", older.String()}
	if got := Disagreements(bundles); len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Disagreements(bundles[:1]); len(got) != 0 {
		t.Errorf("one bundle: %+v", got)
	}
}
