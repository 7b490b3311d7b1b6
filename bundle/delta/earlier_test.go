package delta

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/advice"
)

// TestOpenEarlier: an earlier bundle needs an accepted signature and all its parts.
func TestOpenEarlier(t *testing.T) {
	f, other := bundletest.New(t), bundletest.New(t)
	keys := []string{bundle.Fingerprint(&f.Key.PublicKey)}
	none, err := Options{}.OpenEarlier()
	require.NoError(t, err)
	assert.Nil(t, none)
	assert.NoError(t, none.Close())
	one, err := Options{Earlier: []string{f.Dir}, Keys: keys}.OpenEarlier()
	require.NoError(t, err)
	require.NoError(t, one.Close())

	_, err = Options{Earlier: []string{f.Dir, other.Dir}, Keys: keys}.OpenEarlier()
	require.ErrorContains(t, err, "read --from: the bundle must be signed with key "+keys[0])
	_, err = Options{Earlier: []string{t.TempDir()}, Keys: keys}.OpenEarlier()
	require.ErrorContains(t, err, "read --from: ")
	_, err = Options{Earlier: []string{filepath.Join(f.Dir, "none")}}.OpenEarlier()
	require.ErrorContains(t, err, "no such file or directory", "not a missing key")
	require.NoError(t, os.Remove(filepath.Join(f.Dir, "bundle.tar.001")))
	_, err = Options{Earlier: []string{f.Dir}, Keys: keys}.OpenEarlier()
	require.ErrorIs(t, err, bundle.ErrDamaged)
	assert.Contains(t, advice.Of(err), "leave out --from")
}

// TestOtherSite: the base of another site is a complete bundle.
func TestOtherSite(t *testing.T) {
	base, d := bundletest.BaseAndDelta(t)
	keys := []string{bundle.Fingerprint(&base.Key.PublicKey)}
	v, err := Options{Shared: base.Dir, Keys: keys}.Inventory()
	require.NoError(t, err)
	assert.True(t, v.OtherSite)
	_, err = Options{Shared: d.Dir, Keys: keys}.Inventory()
	assert.True(t, advice.IsUsage(err), "%v", err)
	require.ErrorContains(t, err, "is a delta: pass a complete bundle")
	_, err = Options{Shared: t.TempDir(), Keys: keys}.Inventory()
	require.ErrorContains(t, err, "read --shared-with: ")
}

// TestCheck: options that contradict each other are usage errors.
func TestCheck(t *testing.T) {
	for _, o := range []Options{{Keys: []string{"k"}}, {Authority: "sha256:1"}, {Shared: "a", Authority: "sha256:1"}, {From: "a", Shared: "b"}} {
		assert.True(t, advice.IsUsage(o.Check()), "%+v", o)
	}
	for _, o := range []Options{{}, {Earlier: []string{"a"}, Keys: []string{"k"}}, {Shared: "a", Keys: []string{"k"}}, {From: "a", Keys: []string{"k"}}, {From: "a", Earlier: []string{"b"}}} {
		assert.NoError(t, o.Check(), "%+v", o)
	}
}
