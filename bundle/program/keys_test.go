package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/advice"
)

// TestNewKeysAreADecision: on a new runner, airgap bundle makes no key that no server trusts.
func TestNewKeysAreADecision(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	keys, err := CheckKeys(t.Context(), KeyOptions{Dir: dir})
	require.NoError(t, err)
	err = keys.Make()
	require.ErrorContains(t, err, dir+" has no key that signs bundles (airgap.key) and no key that signs packages (rpm-signing.key)")
	assert.Contains(t, advice.Of(err), "--new-keys")
	assert.NoDirExists(t, dir)

	made := newKeys(t, dir)
	again, err := CheckKeys(t.Context(), KeyOptions{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, again.Make())
	assert.Equal(t, made.Fingerprint(), again.Fingerprint())
	assert.FileExists(t, filepath.Join(dir, bundle.PublicKeyFile(made.PublicKey())))
	fingerprint := made.RPMFingerprint()
	assert.FileExists(t, filepath.Join(dir, "RPM-GPG-KEY-airgap-"+fingerprint[len(fingerprint)-16:]))

	require.NoError(t, os.Remove(filepath.Join(dir, "rpm-signing.key")))
	half, err := CheckKeys(t.Context(), KeyOptions{Dir: dir})
	require.NoError(t, err)
	require.ErrorContains(t, half.NeedKeys(), "has no key that signs packages")
}

// TestPackageHasColleaguesKeys: the servers trust the bundles of all builders whose public keys are in the directory.
func TestPackageHasColleaguesKeys(t *testing.T) {
	bundletest.Need(t, "rpm")
	dir := t.TempDir()
	newKeys(t, dir)
	colleague := bundletest.New(t)
	public, err := os.ReadFile(filepath.Join(colleague.Dir, bundle.PublicKeyName))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, bundle.PublicKeyFile(&colleague.Key.PublicKey)), public, 0o600))
	keys, err := CheckKeys(t.Context(), KeyOptions{Dir: dir})
	require.NoError(t, err)
	file := filepath.Join(dir, "airgap.rpm")
	require.NoError(t, os.WriteFile(file, programPackageBytes(t, writePrograms(t, dir), keys), 0o600))
	var listed []string
	for line := range strings.Lines(rpmSays(t, "-qlp", "--nosignature", file)) {
		if strings.HasSuffix(strings.TrimSpace(line), ".pub") {
			listed = append(listed, strings.TrimSpace(line))
		}
	}
	assert.ElementsMatch(t, []string{"/etc/pki/airgap/" + bundle.PublicKeyFile(keys.PublicKey()), "/etc/pki/airgap/" + bundle.PublicKeyFile(&colleague.Key.PublicKey)}, listed)
}

// TestKeyFlags that contradict each other.
func TestKeyFlags(t *testing.T) {
	dir := t.TempDir()
	for says, o := range map[string]KeyOptions{
		"want one of them":         {Dir: dir, Program: "a", Folder: "b"},
		"add --signer PROGRAM":     {Dir: dir, RPM: "rsa.pub"},
		"need the public keys":     {Dir: dir, Program: "a"},
		"load public key site.pub": {Dir: dir, Program: "a", Sign: "site.pub"},
	} {
		_, err := CheckKeys(t.Context(), o)
		require.ErrorContains(t, err, says)
	}
}
