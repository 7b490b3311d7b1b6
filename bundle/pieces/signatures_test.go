package pieces

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// TestSignaturesOfTwoPersons: behind the gate, the bundle has the signatures of both persons. A bundle that only its
// builder signed passes too.
func TestSignaturesOfTwoPersons(t *testing.T) {
	f := bundletest.New(t)
	second, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for _, persons := range []int{1, 2} {
		if persons == 2 {
			_, err := f.Open(t).Cosign(second)
			require.NoError(t, err)
		}
		out, to := t.TempDir(), filepath.Join(t.TempDir(), "bank")
		pack(t, PackOptions{Dir: f.Dir, Out: out})
		_, err := unpack(out, to, nil)
		require.NoError(t, err)
		b, err := bundle.Open(to, &f.Key.PublicKey)
		require.NoError(t, err)
		require.Len(t, b.Signers(&f.Key.PublicKey, &second.PublicKey), persons)
		require.NoError(t, b.Close())
		_, err = os.Stat(filepath.Join(to, bundle.CosignaturesName))
		require.Equal(t, persons == 2, err == nil)
	}
}
