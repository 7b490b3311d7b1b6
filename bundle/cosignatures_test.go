package bundle_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// TestCosign: a second and a third person sign. Each trusted key counts once, and copies have all signatures.
func TestCosign(t *testing.T) {
	f := bundletest.New(t)
	second, third := newKey(t, elliptic.P256()), newKey(t, elliptic.P384())
	all := []*ecdsa.PublicKey{&f.Key.PublicKey, &second.PublicKey, &third.PublicKey}
	assert.Len(t, f.Open(t).Signers(all...), 1)
	for i, key := range []*ecdsa.PrivateKey{second, second, third} {
		b := f.Open(t)
		added, err := b.Cosign(key)
		require.NoError(t, err)
		assert.Equal(t, i != 1, added, "the same key signs once")
	}
	b := f.Open(t)
	assert.Len(t, b.Signers(all...), 3)
	assert.Len(t, b.Signers(append(all, all...)...), 3, "a key that is given twice counts once")
	assert.Len(t, b.Signers(all[1:2]...), 1)
	assert.Empty(t, b.Signers(&newKey(t, elliptic.P256()).PublicKey))
	assert.Contains(t, b.Names(), bundle.CosignaturesName)
	assert.Len(t, bundle.PublicKeysIn(f.Dir), 3)
	require.NoError(t, b.Verify(background, ui.Discard()))

	// A bundle opens with the key of any person who signed it.
	only, err := bundle.Open(f.Dir, &third.PublicKey)
	require.NoError(t, err)
	must(t, only.Close())

	to := filepath.Join(t.TempDir(), "copy")
	_, err = b.Copy(background, to, ui.Discard())
	require.NoError(t, err)
	kept, err := bundle.Open(to, &f.Key.PublicKey)
	require.NoError(t, err)
	defer kept.Close()
	assert.Len(t, kept.Signers(all...), 3)
	signed, err := bundle.ReadSigned(to, &f.Key.PublicKey)
	require.NoError(t, err)
	assert.Len(t, bundle.SignersOf(signed.Files, all...), 3)
}

// TestCopyKeepsSignatures: a copy keeps the signatures that it has and the next copied medium lacks.
func TestCopyKeepsSignatures(t *testing.T) {
	f, to := bundletest.New(t), filepath.Join(t.TempDir(), "copy")
	keys := []*ecdsa.PublicKey{&f.Key.PublicKey}
	for range 2 {
		person := newKey(t, elliptic.P256())
		keys = append(keys, &person.PublicKey)
		_, err := f.Open(t).Cosign(person)
		require.NoError(t, err)
		_, err = f.Open(t).Copy(background, to, ui.Discard())
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(f.Dir, bundle.CosignaturesName)))
	}
	_, err := f.Open(t).Copy(background, to, ui.Discard())
	require.NoError(t, err)
	kept, err := bundle.Open(to, &f.Key.PublicKey)
	require.NoError(t, err)
	defer kept.Close()
	assert.Len(t, kept.Signers(keys...), 3)
}

// TestMediumWithManySignatures: the signatures of unknown keys do not displace those of trusted keys in the copy.
func TestMediumWithManySignatures(t *testing.T) {
	f, to := bundletest.New(t), filepath.Join(t.TempDir(), "copy")
	second := newKey(t, elliptic.P256())
	trusted := []*ecdsa.PublicKey{&f.Key.PublicKey, &second.PublicKey}
	medium := filepath.Join(f.Dir, bundle.CosignaturesName)
	copied := func() {
		b, err := bundle.Open(f.Dir, trusted...)
		require.NoError(t, err)
		defer b.Close()
		_, err = b.Copy(background, to, ui.Discard())
		require.NoError(t, err)
	}
	_, err := f.Open(t).Cosign(second)
	require.NoError(t, err)
	copied()
	require.NoError(t, os.Remove(medium))
	var many []byte
	for len(many) < 64<<10-400 { // the file has at most 64 KiB
		_, err := f.Open(t).Cosign(newKey(t, elliptic.P256()))
		require.NoError(t, err)
		one, err := os.ReadFile(medium)
		require.NoError(t, err)
		many = append(many, one...)
		require.NoError(t, os.Remove(medium))
	}
	require.NoError(t, os.WriteFile(medium, many, 0o644))
	copied()
	kept, err := bundle.Open(to, trusted...)
	require.NoError(t, err)
	defer kept.Close()
	assert.Len(t, kept.Signers(trusted...), 2)
}

// TestAlteredCosignatures: signatures in a file that a gate has changed count as missing. Signatures of
// another bundle do not count.
func TestAlteredCosignatures(t *testing.T) {
	f, other := bundletest.New(t), bundletest.NewWith(t, "other", bundletest.StandardImages(t)[:1]...)
	second := newKey(t, elliptic.P256())
	_, err := f.Open(t).Cosign(second)
	require.NoError(t, err)
	path := filepath.Join(f.Dir, bundle.CosignaturesName)
	right, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = other.Open(t).Cosign(second)
	require.NoError(t, err)
	foreign, err := os.ReadFile(filepath.Join(other.Dir, bundle.CosignaturesName))
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		text []byte
		want int
	}{
		"right": {right, 2}, "empty": {nil, 1}, "garbage": {[]byte("-----BEGIN"), 1}, "half": {right[:len(right)-40], 1},
		"a signature of another bundle": {foreign, 1}, "the same one twice": {append(slices.Clip(right), right...), 2},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, tc.text, 0o600))
			assert.Len(t, f.Open(t).Signers(&f.Key.PublicKey, &second.PublicKey), tc.want)
		})
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("/etc/hostname", path))
	_, err = bundle.Open(f.Dir, &f.Key.PublicKey)
	require.ErrorIs(t, err, bundle.ErrDamaged)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, make([]byte, 65<<10), 0o600))
	_, err = bundle.Open(f.Dir, &f.Key.PublicKey)
	require.ErrorContains(t, err, "larger than 65536 bytes")
}
