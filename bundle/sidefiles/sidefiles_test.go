package sidefiles_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/sidefiles"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// TestChangedAfterTheCheck: a second scan changes files after the check. The copy refuses the program, and leaves out
// documentation.
func TestChangedAfterTheCheck(t *testing.T) {
	f := bundletest.New(t)
	program := filepath.Join(f.Dir, bundle.ProgramName)
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
	f.Sign(t)
	b := f.Open(t)
	altered, err := sidefiles.Check(b)
	require.NoError(t, err)
	require.Empty(t, altered)

	install := filepath.Join(f.Dir, "INSTALL.txt")
	require.NoError(t, os.WriteFile(install, []byte("rpm --import RPM-GPG-KEY-airgap\r\n"), 0o644))
	to := filepath.Join(t.TempDir(), "store")
	_, err = b.Copy(t.Context(), to, ui.Discard())
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(to, "INSTALL.txt"))

	require.NoError(t, os.Remove(program))
	_, err = b.Copy(t.Context(), filepath.Join(t.TempDir(), "store"), ui.Discard())
	require.ErrorContains(t, err, bundle.ProgramName)
	_, err = sidefiles.Check(b)
	require.ErrorIs(t, err, bundle.ErrDamaged)
	require.Contains(t, advice.Of(err), "copy airgap again")

	// The copy without INSTALL.txt is a bundle, and another host can copy it.
	kept, err := bundle.Open(to, &f.Key.PublicKey)
	require.NoError(t, err)
	defer kept.Close()
	altered, err = sidefiles.Check(kept)
	require.NoError(t, err)
	require.Equal(t, []string{"INSTALL.txt"}, altered.Names())
	_, err = kept.Copy(t.Context(), filepath.Join(t.TempDir(), "third"), ui.Discard())
	require.NoError(t, err)
}
