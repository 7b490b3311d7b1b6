package parts

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// bankOf makes a bundle with the side files of a real bundle.
func bankOf(t *testing.T) *bundletest.Fixture {
	t.Helper()
	f := bundletest.New(t)
	for _, name := range []string{bundle.ProgramName, "airgap.rpm"} {
		require.NoError(t, os.WriteFile(filepath.Join(f.Dir, name), []byte(name), 0o755))
	}
	f.Sign(t)
	return f
}

// medium makes a medium with the index and some of the other files.
func medium(t *testing.T, f *bundletest.Fixture, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Concat(bundle.IndexFiles(), names) {
		data, err := os.ReadFile(filepath.Join(f.Dir, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	return dir
}

func signed(t *testing.T, f *bundletest.Fixture, dir string) *bundle.Signed {
	t.Helper()
	s, err := bundle.ReadSigned(dir, &f.Key.PublicKey)
	require.NoError(t, err)
	return s
}

// TestAnyOrder: media come in any order, and twice; the index comes last.
func TestAnyOrder(t *testing.T) {
	f := bankOf(t)
	all := f.Open(t).Index().Parts
	require.GreaterOrEqual(t, len(all), 3)
	var last []string
	for _, p := range all[2:] {
		last = append(last, p.Name)
	}
	media := []string{
		medium(t, f, last...),
		medium(t, f, "airgap", "airgap.rpm", all[0].Name),
		medium(t, f, last...), // again
		medium(t, f, all[1].Name, "INSTALL.txt"),
	}
	to := filepath.Join(t.TempDir(), "set")
	missing := []string{"airgap airgap.rpm", "", "", ""}
	for i, dir := range media {
		state, err := Collect(t.Context(), signed(t, f, dir), dir, to, ui.Discard())
		require.NoError(t, err)
		assert.Equal(t, i == len(media)-1, state.Complete)
		for name := range strings.FieldsSeq(missing[i]) {
			assert.Contains(t, state.MissingFiles, name)
		}
		_, err = os.Stat(filepath.Join(to, bundle.IndexName))
		assert.Equal(t, !state.Complete, errors.Is(err, os.ErrNotExist))
		if i < len(media)-1 {
			assert.Contains(t, state.MissingFiles, all[1].Name)
			assert.Positive(t, state.MissingBytes())
		}
		if i == 2 {
			assert.Empty(t, state.Took)
			assert.Equal(t, last, state.Had)
		}
	}
	b, err := bundle.Open(to, &f.Key.PublicKey)
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.Verify(t.Context(), ui.Discard()))
}

// TestResumed: an interrupted part goes on, and a damaged one is named and taken from another medium.
func TestResumed(t *testing.T) {
	f := bankOf(t)
	part := f.Open(t).Index().Parts[0].Name
	dir, to := medium(t, f, part, "airgap", "airgap.rpm"), filepath.Join(t.TempDir(), "set")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Collect(ctx, signed(t, f, dir), dir, to, ui.Discard())
	require.ErrorIs(t, err, context.Canceled)

	whole, err := os.ReadFile(filepath.Join(dir, part))
	require.NoError(t, err)
	damaged := slices.Clone(whole)
	damaged[7] ^= 1
	require.NoError(t, os.WriteFile(filepath.Join(dir, part), damaged, 0o644))
	_, err = Collect(t.Context(), signed(t, f, dir), dir, to, ui.Discard())
	require.ErrorIs(t, err, bundle.ErrDamaged)
	require.ErrorContains(t, err, part+", chunk 0")
	require.NoError(t, os.WriteFile(filepath.Join(dir, part), whole[:len(whole)-1], 0o644))
	_, err = Collect(t.Context(), signed(t, f, dir), dir, to, ui.Discard())
	require.ErrorContains(t, err, "bytes, want")

	require.NoError(t, os.WriteFile(filepath.Join(to, part+".tmp"), whole, 0o644)) // all bytes were copied before
	state, err := Collect(t.Context(), signed(t, f, dir), dir, to, ui.Discard())
	require.NoError(t, err)
	assert.Equal(t, []string{part, "airgap", "airgap.rpm"}, state.Took)
}

// TestSignaturesOfAllMedia: the bundle has the signatures of all media. One has only the builder's, a gate has altered
// the builder's on the next one, and two persons signed different media.
func TestSignaturesOfAllMedia(t *testing.T) {
	f := bankOf(t)
	all := f.Open(t).Index().Parts
	keys := []*ecdsa.PublicKey{&f.Key.PublicKey}
	media := []string{medium(t, f, "airgap", "airgap.rpm", all[0].Name)}
	for i := 1; i <= 2; i++ {
		person, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		keys = append(keys, &person.PublicKey)
		err = os.Remove(filepath.Join(f.Dir, bundle.CosignaturesName))
		require.True(t, err == nil || errors.Is(err, os.ErrNotExist))
		_, err = f.Open(t).Cosign(person)
		require.NoError(t, err)
		names := []string{bundle.CosignaturesName, all[i].Name}
		if i == 2 {
			for _, p := range all[3:] {
				names = append(names, p.Name)
			}
		}
		media = append(media, medium(t, f, names...))
	}
	require.NoError(t, os.WriteFile(filepath.Join(media[1], bundle.SignatureName), []byte("altered"), 0o644))
	to := filepath.Join(t.TempDir(), "set")
	for _, i := range []int{0, 2, 1} {
		s, err := bundle.ReadSigned(media[i], keys...)
		require.NoError(t, err)
		state, err := Collect(t.Context(), s, media[i], to, ui.Discard(), keys...)
		require.NoError(t, err)
		if assert.Equal(t, i == 1, state.Complete); state.Complete {
			assert.Len(t, bundle.SignersOf(s.Files, keys...), 3, "the caller judges all signatures")
		}
	}
	b, err := bundle.Open(to, keys...)
	require.NoError(t, err)
	defer b.Close()
	assert.Len(t, b.Signers(keys...), 3)
}

// signatureIn returns the only signature in the text of further signatures.
func signatureIn(t *testing.T, text []byte) []byte {
	t.Helper()
	public, rest := pem.Decode(text)
	require.NotNil(t, public)
	signature, _ := pem.Decode(rest)
	require.NotNil(t, signature)
	return signature.Bytes
}

// TestSignatureUnderTheBuildersName: a later medium has the signature of the second person as SHA256SUMS.sig. The bundle keeps
// the builder's.
func TestSignatureUnderTheBuildersName(t *testing.T) {
	f := bankOf(t)
	all := f.Open(t).Index().Parts
	first := medium(t, f, "airgap", "airgap.rpm", all[0].Name)
	person, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	keys := []*ecdsa.PublicKey{&f.Key.PublicKey, &person.PublicKey}
	_, err = f.Open(t).Cosign(person)
	require.NoError(t, err)
	further, err := os.ReadFile(filepath.Join(f.Dir, bundle.CosignaturesName))
	require.NoError(t, err)
	names := []string{bundle.CosignaturesName}
	for _, p := range all[1:] {
		names = append(names, p.Name)
	}
	second := medium(t, f, names...)
	require.NoError(t, os.WriteFile(filepath.Join(second, bundle.SignatureName), signatureIn(t, further), 0o644))
	to := filepath.Join(t.TempDir(), "set")
	for _, from := range []string{first, second} {
		s, err := bundle.ReadSigned(from, keys...)
		require.NoError(t, err)
		_, err = Collect(t.Context(), s, from, to, ui.Discard(), keys...)
		require.NoError(t, err)
	}
	b, err := bundle.Open(to, keys...)
	require.NoError(t, err)
	defer b.Close()
	assert.Len(t, b.Signers(keys...), 2)
}

// TestAlteredSideFile: a gate that changes documentation does not stop a set.
func TestAlteredSideFile(t *testing.T) {
	f := bankOf(t)
	dir := medium(t, f, "airgap", "airgap.rpm", "INSTALL.txt")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "INSTALL.txt"), []byte("changed\r\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Thumbs.db"), nil, 0o644))
	for _, p := range f.Open(t).Index().Parts {
		data, err := os.ReadFile(filepath.Join(f.Dir, p.Name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, strings.ToUpper(p.Name)), data, 0o644))
	}
	state, err := Collect(t.Context(), signed(t, f, dir), dir, filepath.Join(t.TempDir(), "set"), ui.Discard())
	require.NoError(t, err)
	assert.True(t, state.Complete)
	assert.Equal(t, []string{"INSTALL.txt"}, state.MissingFiles)
}
