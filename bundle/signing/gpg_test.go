package signing_test

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle/bundletest"
)

var signedAt = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func inPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// checkWithGPG verifies an OpenPGP signature of "repomd" with GnuPG, also the one of the key itself.
func checkWithGPG(t *testing.T, public, signature []byte) {
	t.Helper()
	bundletest.Need(t, "gpg")
	dir := t.TempDir()
	for name, data := range map[string][]byte{"key.asc": public, "repomd": []byte("repomd"), "repomd.asc": signature} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	home := []string{"GNUPGHOME=" + dir}
	run(t, home, "gpg", "--batch", "--import", filepath.Join(dir, "key.asc"))
	run(t, home, "gpg", "--batch", "--verify", filepath.Join(dir, "repomd.asc"), filepath.Join(dir, "repomd"))
}
