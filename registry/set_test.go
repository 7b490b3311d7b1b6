package registry_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
)

// anybody is for a site without a two-person rule.
func anybody(*bundle.Index, map[string][]byte) error { return nil }

// TestImportFrom: the bundle of a set is in the store when its last part is, and can be installed from there.
func TestImportFrom(t *testing.T) {
	f := bundletest.New(t)
	index := f.Open(t).Index()
	store := registry.Store{Dir: filepath.Join(t.TempDir(), "store")}
	medium := func(parts ...bundle.Part) string {
		dir := t.TempDir()
		names := append(bundle.IndexFiles(), "INSTALL.txt")
		for _, p := range parts {
			names = append(names, p.Name)
		}
		for _, name := range names {
			require.NoError(t, os.Link(filepath.Join(f.Dir, name), filepath.Join(dir, name)))
		}
		return dir
	}
	state, had, err := store.ImportFrom(t.Context(), medium(index.Parts[1:]...), anybody, ui.Discard(), &f.Key.PublicKey)
	require.NoError(t, err)
	assert.False(t, had || state.Complete)
	names, err := store.List()
	require.NoError(t, err)
	assert.Empty(t, names, "it is not served yet")

	first := medium(index.Parts[0])
	state, had, err = store.ImportFrom(t.Context(), first, anybody, ui.Discard(), &f.Key.PublicKey)
	require.NoError(t, err)
	assert.True(t, !had && state.Complete)
	opened, err := store.Open(&f.Key.PublicKey)
	require.NoError(t, err)
	require.Len(t, opened, 1)
	require.NoError(t, opened[0].Verify(t.Context(), ui.Discard()))
	there, err := store.Has(opened[0], &f.Key.PublicKey)
	require.NoError(t, err)
	assert.True(t, there)
	_, had, err = store.ImportFrom(t.Context(), first, anybody, ui.Discard(), &f.Key.PublicKey)
	require.NoError(t, err)
	assert.True(t, had)
	require.NoError(t, bundle.NewView(opened...).Close())
}

// TestSetOfADelta: a delta without its base is refused, and its parts stay for the next try.
func TestSetOfADelta(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	store := registry.Store{Dir: filepath.Join(t.TempDir(), "store")}
	_, _, err := store.ImportFrom(t.Context(), delta.Dir, anybody, ui.Discard(), &base.Key.PublicKey)
	require.ErrorIs(t, err, bundle.ErrBase)
	names, err := store.List()
	require.NoError(t, err)
	assert.Empty(t, names)
	_, _, err = store.ImportFrom(t.Context(), base.Dir, anybody, ui.Discard(), &base.Key.PublicKey)
	require.NoError(t, err)
	state, _, err := store.ImportFrom(t.Context(), delta.Dir, anybody, ui.Discard(), &base.Key.PublicKey)
	require.NoError(t, err)
	assert.True(t, state.Complete)
	names, err = store.List()
	require.NoError(t, err)
	assert.Len(t, names, 2)
}
