package build

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/bundle/program"
)

// TestSameBytesOnAnotherDay: two builds of one lock, on two days and in two directories, have the same files with the
// same bytes. So a security office can build a bundle again and compare it.
func TestSameBytesOnAnotherDay(t *testing.T) {
	options, keys := connectedHost(t), program.KeyOptions{Dir: t.TempDir(), New: true}
	first := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	build := func(now time.Time, keys program.KeyOptions) string {
		o := options
		o.Out, o.Keys, o.Now = t.TempDir(), keys, func() time.Time { return now }
		done, err := Bundle(t.Context(), o)
		require.NoError(t, err)
		return done.Dir
	}
	one := build(first, keys)
	keys.New = false
	two := build(first.Add(40*24*time.Hour+time.Second), keys)

	files := contentOf(t, one)
	for _, name := range []string{
		bundle.IndexName, bundle.SumsName, bundle.SignatureName, "bundle.tar.000", "airgap.rpm", "INSTALL.txt", papers.ReportName, papers.SBOMName, "docs.html",
	} {
		assert.Contains(t, files, name)
	}
	again := contentOf(t, two)
	assert.Len(t, again, len(files))
	for name, content := range files {
		assert.True(t, content == again[name], "%s differs", name)
	}
	key, err := bundle.PublicKeyIn(two)
	require.NoError(t, err)
	b, err := bundle.Open(two, key)
	require.NoError(t, err)
	defer b.Close()
	assert.Equal(t, first, b.Index().Created, "the time is the one of the lock")
}

func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(text)
	}
	return all
}
