package store

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// TestImportSet: each run says which files are missing, and the last one what to do next.
func TestImportSet(t *testing.T) {
	f := bundletest.New(t)
	index, stored := f.Open(t).Index(), filepath.Join(t.TempDir(), "my store")
	require.NoError(t, os.Mkdir(stored, 0o755))
	whole, err := bundle.Open(f.Dir, &f.Key.PublicKey)
	require.NoError(t, err)
	defer whole.Close()
	key := filepath.Join(t.TempDir(), "key.pub")
	text, err := os.ReadFile(filepath.Join(f.Dir, bundle.PublicKeyName))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, text, 0o600))
	importFrom := func(dir string) (string, error) {
		list, err := Import(t.Context(), ImportOptions{
			Place: Place{Dir: stored, Keys: []string{key}}, Bundle: dir, Set: true, Console: &ui.Terminal{In: strings.NewReader(""), Err: io.Discard},
		})
		var out bytes.Buffer
		require.NoError(t, list.Write(&out))
		return out.String(), err
	}
	hide := func(name string) string { return filepath.Join(filepath.Dir(f.Dir), name) }
	first := index.Parts[0].Name
	require.NoError(t, os.Rename(filepath.Join(f.Dir, first), hide(first)))
	said, err := importFrom(f.Dir)
	require.NoError(t, err)
	assert.Contains(t, said, "test is not complete yet: 1 file (1.0 MB) missing: bundle.tar.000\nnext: mount the next medium and run the same command\n")

	_, err = bundle.Open(f.Dir, &f.Key.PublicKey)
	require.ErrorIs(t, err, bundle.ErrDamaged)
	assert.Contains(t, advice.Of(err), "airgap registry import --set DIR")

	require.NoError(t, os.Rename(hide(first), filepath.Join(f.Dir, first)))
	said, err = importFrom(f.Dir)
	require.NoError(t, err)
	assert.Equal(t, "test is in the store\nnext: airgap install '"+stored+"/test'\n", said)
	said, err = importFrom(f.Dir)
	require.NoError(t, err)
	assert.Contains(t, said, "is in the store already")

	require.NoError(t, os.Remove(filepath.Join(f.Dir, bundle.IndexName)))
	_, err = importFrom(f.Dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Contains(t, advice.Of(err), bundle.SumsName)
}
