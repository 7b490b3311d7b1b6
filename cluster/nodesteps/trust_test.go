package nodesteps

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/site"
)

// TestTrustStepKeepsWhatWasRequired: written down once, it counts for later
// commands without the flag, until another key is required or the step is taken
// back.
func TestTrustStepKeepsWhatWasRequired(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etc", "required-keys")
	a, b := "SHA256:"+strings.Repeat("a", 64), "SHA256:"+strings.Repeat("b", 64)
	for _, required := range [][]string{{a}, {b, a}, {b}, {a, site.RequireKeys(2)}, {site.RequireKeys(2)}} {
		s := TrustStep(TrustFiles{Required: file}, required)
		if done, err := s.Done(t.Context()); done || err != nil {
			t.Errorf("%v holds before it ran: %v", required, err)
		}
		changes, err := s.Plan(t.Context())
		if err != nil || len(changes) != 1 || !strings.Contains(changes[0], file) {
			t.Errorf("plan: %v, %v", changes, err)
		}
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if done, err := s.Done(t.Context()); !done || err != nil {
			t.Errorf("%v does not hold after it ran: %v", required, err)
		}
		if got, err := site.RecordedKeys(file); err != nil || !slices.Equal(got, required) {
			t.Errorf("recorded %v, %v; want %v", got, err, required)
		}
	}
	if err := TrustStep(TrustFiles{Required: file}, nil).Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := site.RecordedKeys(file); got != nil || err != nil {
		t.Errorf("after the reset: %v, %v", got, err)
	}
	if done, err := TrustStep(TrustFiles{Required: file}, nil).Done(t.Context()); !done || err != nil {
		t.Errorf("where nothing is required the step does not hold: %v", err)
	}
}

// TestTrustStepKeepsKeys: when the airgap.rpm of another builder replaces the key of the first, the
// bundle of the first stays usable.
func TestTrustStepKeepsKeys(t *testing.T) {
	one, other := bundletest.New(t), bundletest.New(t)
	files := TrustFiles{Required: filepath.Join(t.TempDir(), "required-keys"), Package: t.TempDir(), Kept: filepath.Join(t.TempDir(), "kept")}
	own := filepath.Join(files.Kept, "own.pub") // of the site
	require.NoError(t, os.MkdirAll(files.Kept, 0o755))
	require.NoError(t, os.WriteFile(own, []byte("x"), 0o600))
	for _, builder := range []*bundletest.Fixture{one, other} {
		public, err := os.ReadFile(filepath.Join(builder.Dir, bundle.PublicKeyName))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(files.Package, "airgap.pub"), public, 0o600))
		s := TrustStep(files, nil)
		done, err := s.Done(t.Context())
		require.NoError(t, err)
		assert.False(t, done)
		changes, err := s.Plan(t.Context())
		require.NoError(t, err)
		assert.Len(t, changes, 1)
		require.NoError(t, s.Run(t.Context()))
		done, err = s.Done(t.Context())
		require.NoError(t, err)
		assert.True(t, done)
	}
	for _, builder := range []*bundletest.Fixture{one, other} {
		key, err := bundle.LoadPublicKey(filepath.Join(files.Kept, bundle.PublicKeyFile(&builder.Key.PublicKey)))
		require.NoError(t, err)
		assert.True(t, builder.Key.PublicKey.Equal(key))
	}
	require.NoError(t, TrustStep(files, nil).Undo(t.Context()))
	left, err := os.ReadDir(files.Kept)
	require.NoError(t, err)
	assert.Len(t, left, 1, "a reset keeps the site's own file")
}
