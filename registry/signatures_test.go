package registry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// cosign adds the signature of another person, and returns the keys of both.
func cosign(t *testing.T, f *bundletest.Fixture) []*ecdsa.PublicKey {
	t.Helper()
	second, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	_, err = f.Open(t).Cosign(second)
	must(t, err)
	return []*ecdsa.PublicKey{&f.Key.PublicKey, &second.PublicKey}
}

// TestStoreGetsTheSecondSignature: a person signs a bundle that the store has already. The step adds the signature, and
// copies no part.
func TestStoreGetsTheSecondSignature(t *testing.T) {
	f := bundletest.New(t)
	s := storeOf(t, f)
	both := cosign(t, f)
	part := filepath.Join(s.Dir, "test", f.Open(t).Index().Parts[0].Name)
	before, err := os.Stat(part)
	require.NoError(t, err)
	step := StoreStep(s, bundle.NewView(f.Open(t)), both, ui.Discard())
	done, err := step.Done(t.Context())
	require.NoError(t, err)
	assert.False(t, done)
	plan, err := step.Plan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"add signatures to bundle test in " + s.Dir}, plan)
	require.NoError(t, step.Run(t.Context()))
	done, err = step.Done(t.Context())
	require.NoError(t, err)
	assert.True(t, done)
	assert.Len(t, s.mustOpen(t, both[0])[0].Signers(both...), 2)
	after, err := os.Stat(part)
	require.NoError(t, err)
	assert.Equal(t, before.ModTime(), after.ModTime())
}

// TestUnreadableBundleBeside: another bundle of the store cannot be read, such as one on a stick that fails. It does not stop
// the import of this one.
func TestUnreadableBundleBeside(t *testing.T) {
	f := bundletest.New(t)
	s := storeOf(t, f)
	beside := filepath.Join(s.Dir, "another")
	require.NoError(t, os.MkdirAll(filepath.Join(beside, bundle.SumsName), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(beside, bundle.IndexName), nil, 0o644))
	_, err := bundle.HasSums(beside, nil)
	require.Error(t, err)
	_, err = s.LacksSignatures(f.Open(t), &f.Key.PublicKey)
	assert.NoError(t, err)
}

// TestRefusedSetStays: a set that too few persons signed is not in the store, and its parts stay. A medium of a bundle in
// the store is refused too, and changes nothing.
func TestRefusedSetStays(t *testing.T) {
	f := bundletest.New(t)
	s := Store{Dir: filepath.Join(t.TempDir(), "store")}
	few := errors.New("too few")
	nobody := func(*bundle.Index, map[string][]byte) error { return few }
	state, _, err := s.ImportFrom(t.Context(), f.Dir, nobody, ui.Discard(), &f.Key.PublicKey)
	require.ErrorIs(t, err, few)
	assert.False(t, state.Complete)
	names, err := s.List()
	require.NoError(t, err)
	assert.Empty(t, names)

	both := cosign(t, f)
	state, _, err = s.ImportFrom(t.Context(), f.Dir, func(*bundle.Index, map[string][]byte) error { return nil }, ui.Discard(), both[0])
	require.NoError(t, err)
	assert.True(t, state.Complete)
	assert.Empty(t, state.Took, "the parts stayed")
	cosign(t, f)
	_, had, err := s.ImportFrom(t.Context(), f.Dir, nobody, ui.Discard(), both[0])
	require.ErrorIs(t, err, few)
	assert.True(t, had)
	lacks, err := s.LacksSignatures(f.Open(t), both...)
	require.NoError(t, err)
	assert.True(t, lacks, "the refused signature is not in the store")
	state, _, err = s.ImportFrom(t.Context(), f.Dir, func(*bundle.Index, map[string][]byte) error { return nil }, ui.Discard(), both[0])
	require.NoError(t, err)
	assert.Equal(t, []string{bundle.CosignaturesName}, state.Took)
}
