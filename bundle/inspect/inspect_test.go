package inspect_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/inspect"
	"airgap.dev/airgap/internal/ui"
)

// A stick without airgap.rpm cannot install a server, even if all parts are present.
func TestFilesNextToTheParts(t *testing.T) {
	f := bundletest.New(t)
	pkg := filepath.Join(f.Dir, "airgap.rpm")
	require.NoError(t, os.WriteFile(pkg, []byte("package"), 0o600))
	f.Sign(t)
	look := func() error {
		_, err := inspect.Bundle(t.Context(), inspect.Options{Dir: f.Dir, Keys: []string{filepath.Join(f.Dir, "airgap.pub")}, Progress: ui.Discard()})
		return err
	}
	require.NoError(t, look())
	require.NoError(t, os.WriteFile(pkg, []byte("damaged"), 0o600))
	require.ErrorContains(t, look(), "airgap.rpm: SHA-256 does not match the signed value")
	require.NoError(t, os.Remove(pkg))
	require.ErrorContains(t, look(), "airgap.rpm: missing")
}

// TestRenamed: names that a medium has changed are said.
func TestRenamed(t *testing.T) {
	f := bundletest.New(t)
	key := filepath.Join(t.TempDir(), "airgap.pub")
	require.NoError(t, os.Rename(filepath.Join(f.Dir, "bundle.tar.000"), filepath.Join(f.Dir, "BUNDLE.TAR.000")))
	text, err := os.ReadFile(filepath.Join(f.Dir, "airgap.pub"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, text, 0o600))
	c, err := inspect.Bundle(t.Context(), inspect.Options{Dir: f.Dir, Keys: []string{key}, Full: true, Progress: ui.Discard()})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, c.Write(&out))
	require.Contains(t, out.String(), "names     changed by the medium or a gate: BUNDLE.TAR.000;")
}
