package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/cryptopolicy"
	"airgap.dev/airgap/preflight/replay"
)

// TestCryptoPolicy: the facts have the policy's name and the lines for rpm. A server without crypto policies has none.
func TestCryptoPolicy(t *testing.T) {
	const openssl, sequoia = "-- fs/etc/crypto-policies/back-ends/opensslcnf.config --\n", "-- fs/etc/crypto-policies/back-ends/rpm-sequoia.config --\n"
	for text, want := range map[string]cryptopolicy.Surveyed{
		"-- fs/etc/crypto-policies/state/current --\nDEFAULT:SHA1\n" + openssl + "rh-allow-sha1-signatures = yes\n": {Name: "DEFAULT:SHA1", SHA1: "yes"},
		sequoia + "[asymmetric_algorithms]\nrsa1024 = \"never\"\n":                                                  {Sequoia: map[string]string{"rsa1024": "never"}},
		"-- fs/etc/hostname --\ncp1\n": {},
	} {
		h, err := replay.Host([]byte(text))
		require.NoError(t, err)
		f := &Facts{}
		require.NoError(t, readCryptoPolicy(t.Context(), reader{host: h, fs: h.FS()}, f))
		assert.Equal(t, want, f.Crypto)
	}
}
