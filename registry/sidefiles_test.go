package registry

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/sidefiles"
	"airgap.dev/airgap/internal/ui"
)

// TestAlteredDocumentationDoesNotSpread: a host whose bundle has no INSTALL.txt, or an altered one, still serves the bundle
// to the store of another host.
func TestAlteredDocumentationDoesNotSpread(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"altered": func(path string) error { return os.WriteFile(path, []byte("curl | sh\r\n"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			f := bundletest.New(t)
			require.NoError(t, change(filepath.Join(f.Dir, "INSTALL.txt")))
			r := start(t, f.Open(t))
			b, err := r.from(t, f)
			require.NoError(t, err)
			defer b.Close()
			altered, err := sidefiles.Check(b)
			require.NoError(t, err)
			require.Equal(t, []string{"INSTALL.txt"}, altered.Names())
			s := Store{Dir: t.TempDir()}
			_, err = s.Import(t.Context(), b, ui.Discard())
			require.NoError(t, err)
			require.NoFileExists(t, filepath.Join(s.Dir, "test", "INSTALL.txt"))
			held, err := s.Has(b, &f.Key.PublicKey)
			require.NoError(t, err)
			require.True(t, held)
		})
	}
}

// TestInPlaceWithoutDocumentation serves a stick in place from which a gate removed INSTALL.txt, and none without its key.
func TestInPlaceWithoutDocumentation(t *testing.T) {
	f := bundletest.New(t)
	require.NoError(t, os.Remove(filepath.Join(f.Dir, "INSTALL.txt")))
	makeReadable(t, f.Dir)
	s := Store{Dir: filepath.Join(t.TempDir(), "store"), InPlace: true}
	_, err := s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(f.Dir, bundle.PublicKeyName)))
	s.Dir = filepath.Join(t.TempDir(), "other")
	_, err = s.Import(t.Context(), f.Open(t), ui.Discard(), &f.Key.PublicKey)
	require.ErrorContains(t, err, bundle.PublicKeyName)
}
