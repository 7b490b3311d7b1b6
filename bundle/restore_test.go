package bundle_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// TestCompleteBundleIsRestored: a virus scanner on the connected host changes the files next to the parts of a complete
// bundle. The same airgap bundle writes them again, and nothing else.
func TestCompleteBundleIsRestored(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	o, dir := options(t), filepath.Join(t.TempDir(), "stick")
	_, err := bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
	require.NoError(t, err)
	before := hashAll(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "INSTALL.txt"), []byte("read me\r\n"), 0o644))
	require.NoError(t, os.Remove(filepath.Join(dir, bundle.PublicKeyName)))
	report, err := bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
	require.NoError(t, err)
	require.True(t, report.Complete)
	require.Equal(t, before, hashAll(t, dir))
}
