package bundle

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMergeCosignatures: no medium displaces the signature of a trusted key, and a text that is no signature on the sums is left out.
func TestMergeCosignatures(t *testing.T) {
	sums := []byte("sums")
	signed := func(key *ecdsa.PrivateKey, data []byte) []byte {
		signature, err := sign(key, data)
		require.NoError(t, err)
		text, err := cosignature{&key.PublicKey, signature}.encode()
		require.NoError(t, err)
		return text
	}
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return key
	}
	one, two := newKey(), newKey()
	first, second := signed(one, sums), signed(two, sums)
	var foreign []byte
	for len(foreign) < maxCosignatures {
		foreign = append(foreign, signed(newKey(), sums)...)
	}
	both := []*ecdsa.PublicKey{&one.PublicKey, &two.PublicKey}
	files := func(text []byte) map[string][]byte {
		return map[string][]byte{SumsName: sums, CosignaturesName: text}
	}
	for name, tc := range map[string]struct {
		texts [][]byte
		want  int
	}{
		"none":                        {nil, 0},
		"of two media":                {[][]byte{first, second}, 2},
		"the same one":                {[][]byte{first, first}, 1},
		"a file that is full":         {[][]byte{foreign, first, second}, 2},
		"a cut file before":           {[][]byte{second[:100], first}, 1},
		"of another bundle":           {[][]byte{signed(one, []byte("other")), second}, 1},
		"of another bundle, and good": {[][]byte{signed(one, []byte("other")), first}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			merged := mergeCosignatures(sums, both, tc.texts...)
			assert.Len(t, SignersOf(files(merged), both...), tc.want)
			assert.LessOrEqual(t, len(merged), maxCosignatures)
			assert.Equal(t, merged, mergeCosignatures(sums, both, merged))
		})
	}
}
