package site

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/advice"
)

// TestTwoPersons: with --require-keys 2, a bundle is accepted only with the signatures of two different trusted
// keys.
func TestTwoPersons(t *testing.T) {
	f := bundletest.New(t)
	second, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	trusted := []string{bundle.Fingerprint(&f.Key.PublicKey), bundle.Fingerprint(&second.PublicKey)}
	_, _, err = Open(f.Dir, append(trusted, RequireKeys(2)))
	require.ErrorContains(t, err, "accept bundle test: 1 of the trusted keys signed it, but 2 must")
	assert.Contains(t, advice.Of(err), "airgap sign DIR")

	toSign, err := OpenToSign(f.Dir, trusted)
	require.NoError(t, err)
	_, err = toSign.Cosign(second)
	require.NoError(t, err)
	require.NoError(t, toSign.Close())
	b, trust, err := Open(f.Dir, append(trusted, RequireKeys(2)))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	assert.Equal(t, append(trusted, RequireKeys(2)), trust.Required, "for the file on the server, and for the other hosts")

	_, _, err = Open(f.Dir, []string{trusted[0], RequireKeys(2)})
	require.ErrorContains(t, err, "1 of the trusted keys signed it", "a key that is not trusted does not count")
	_, _, err = Open(f.Dir, append(trusted, RequireKeys(3)))
	require.ErrorContains(t, err, "2 of the trusted keys signed it, but 3 must")
}

// TestNumberOnlyRises: the largest number of the flag, the server's file and airgap.yaml counts.
func TestNumberOnlyRises(t *testing.T) {
	f := bundletest.New(t)
	index := *f.Open(t).Index()
	asks := index
	asks.Config += "approval: {keys: 2}\n"
	key := bundle.Fingerprint(&f.Key.PublicKey)
	for name, tc := range map[string]struct {
		required []string
		index    *bundle.Index
		want     int
	}{
		"nothing": {[]string{key}, &index, 1}, "airgap.yaml": {[]string{key}, &asks, 2}, "the flag": {[]string{key, RequireKeys(3)}, &asks, 3},
		"a bundle does not lower it": {[]string{RequireKeys(2)}, &index, 2},
	} {
		t.Run(name, func(t *testing.T) {
			for signed := range 4 {
				trust := Trust{Required: tc.required}
				err := trust.enough(tc.index, signed)
				assert.Equal(t, signed >= tc.want, err == nil, "%d signatures: %v", signed, err)
				_, n, err := SplitKeys(trust.Required)
				require.NoError(t, err)
				assert.Equal(t, tc.want, max(n, 1))
			}
		})
	}
}

// TestNumbers of keys in the file and in the flag.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]int{RequireKeys(2): 2, "keys=9": 9, "keys=0": 0, "keys=10": 0, "keys=-1": 0, "keys=": 0, "keys=two": 0} {
		n, is, err := Count(text)
		assert.True(t, is)
		assert.Equal(t, want == 0, err != nil, text)
		assert.Equal(t, want, n*map[bool]int{true: 1}[err == nil], text)
		file := filepath.Join(t.TempDir(), "required-keys")
		require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
		got, err := RecordedKeys(file)
		if want == 0 {
			require.ErrorContains(t, err, file)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, []string{text}, got)
	}
	_, is, err := Count("SHA256:00")
	assert.False(t, is)
	require.NoError(t, err)
}

// TestKeysOfADirectory: a folder with the keys of several builders is one value. Their names are by fingerprint.
func TestKeysOfADirectory(t *testing.T) {
	dir := t.TempDir()
	_, _, err := KeysOf("--require-key", []string{dir})
	require.ErrorContains(t, err, "has no files with the ending .pub")
	var prints []string
	for range 3 {
		f := bundletest.New(t)
		public, err := os.ReadFile(filepath.Join(f.Dir, bundle.PublicKeyName))
		require.NoError(t, err)
		name := bundle.PublicKeyFile(&f.Key.PublicKey)
		assert.Regexp(t, `^airgap-[0-9a-f]{16}\.pub$`, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), public, 0o600))
		prints = append(prints, bundle.Fingerprint(&f.Key.PublicKey))
	}
	got, keys, err := KeysOf("--require-key", []string{dir})
	require.NoError(t, err)
	assert.ElementsMatch(t, prints, got)
	assert.Len(t, keys, 3)
}
