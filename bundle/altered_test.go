package bundle_test

import (
	"bytes"
	"context"
	"errors"
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

// renameAll renames each file of a bundle.
func renameAll(t *testing.T, dir string, as func(string) string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.Rename(filepath.Join(dir, e.Name()), filepath.Join(dir, as(e.Name()))))
	}
}

// TestNamesInUpperCase: a bundle is usable with the names of ISO 9660, and its copy has the right ones.
func TestNamesInUpperCase(t *testing.T) {
	for name, as := range map[string]func(string) string{
		"upper case":    strings.ToUpper,
		"with versions": func(s string) string { return strings.ToUpper(s) + ";1" },
		"lower case":    strings.ToLower,
	} {
		t.Run(name, func(t *testing.T) {
			f := bundletest.New(t)
			renameAll(t, f.Dir, as)
			b := f.Open(t)
			require.NoError(t, b.Verify(t.Context(), ui.Discard()))
			to := filepath.Join(t.TempDir(), "copy")
			_, err := b.Copy(t.Context(), to, ui.Discard())
			require.NoError(t, err)
			for _, name := range []string{bundle.IndexName, bundle.SumsName, "bundle.tar.000", "INSTALL.txt"} {
				assert.FileExists(t, filepath.Join(to, name))
			}
		})
	}
}

// TestCutNames: airgap names the change, and says what to do.
func TestCutNames(t *testing.T) {
	f := bundletest.New(t)
	require.NoError(t, os.Rename(filepath.Join(f.Dir, bundle.IndexName), filepath.Join(f.Dir, "BUNDLE.JSO")))
	_, err := bundle.Open(f.Dir, &f.Key.PublicKey)
	require.ErrorIs(t, err, bundle.ErrNoBundle)
	assert.ErrorContains(t, err, "BUNDLE.JSO is its name cut to 8.3 characters")
	assert.Contains(t, advice.Of(err), "xorriso")
}

// TestLineEnds: a gate that converts text is blamed, not the signer.
func TestLineEnds(t *testing.T) {
	for _, name := range []string{bundle.SumsName, bundle.IndexName} {
		f := bundletest.New(t)
		path := filepath.Join(f.Dir, name)
		if name == bundle.IndexName { // the index of a real bundle has lines
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, append(bytes.ReplaceAll(text, []byte(`,"lock"`), []byte(",\n\"lock\"")), '\n'), 0o644))
			f.Sign(t)
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), 0o644))
		_, err = bundle.Open(f.Dir, &f.Key.PublicKey)
		require.ErrorIs(t, err, bundle.ErrDamaged)
		require.NotErrorIs(t, err, bundle.ErrSignature)
		assert.ErrorContains(t, err, name+": its line ends are CRLF")
		assert.Contains(t, advice.Of(err), "binary mode")

		require.NoError(t, os.WriteFile(path, append(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), "x\r\n"...), 0o644))
		_, err = bundle.Open(f.Dir, &f.Key.PublicKey)
		require.Error(t, err, "changed in another way, too")
		assert.NotContains(t, err.Error(), "CRLF")
		assert.Equal(t, name == bundle.SumsName, errors.Is(err, bundle.ErrSignature))
	}
}

// TestJunkWhenResuming: files of desktops, file systems and scanners stop neither a run nor its repetition.
func TestJunkWhenResuming(t *testing.T) {
	images := bundletest.StandardImages(t)
	u, o, dir := newUpstream(t, images...), options(t), t.TempDir()
	for _, name := range []string{"System Volume Information", "$RECYCLE.BIN", ".Spotlight-V100", ".fseventsd", "lost+found"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	junk := func(t *testing.T) {
		t.Helper()
		for _, name := range []string{"._bundle.json", "._bundle.tar.000", ".DS_Store", "Thumbs.db", "desktop.ini", ".Trash-1000"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644))
		}
	}
	junk(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := bundle.Write(ctx, u.plan(t, images...), dir, o, &cancelAt{ui.Discard(), cancel, "images"})
	require.ErrorIs(t, err, context.Canceled)
	junk(t)
	_, err = bundle.Write(t.Context(), u.plan(t, images...), dir, o, ui.Discard())
	require.NoError(t, err)
	report, err := bundle.Write(t.Context(), u.plan(t, images...), dir, o, ui.Discard())
	require.NoError(t, err)
	assert.True(t, report.Complete)
	b, err := bundle.Open(dir, bundle.PublicOf(o.Signer))
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.Verify(t.Context(), ui.Discard()))
}
