package build

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/bundle/signing"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// otherHost has the private keys of the bundle and of the packages.
type otherHost struct {
	bundle *ecdsa.PrivateKey
	rpm    *rsa.PrivateKey
}

func newOtherHost(t *testing.T) otherHost {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	packages, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return otherHost{own, packages}
}

// publicFile writes a public key for --sign-key or --rpm-key.
func publicFile(t *testing.T, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "key.pub")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600))
	return file
}

// sign answers each input without a signature, and returns for which use: "rpm" or "bundle".
func (h otherHost) sign(t *testing.T, folder string) (uses []string) {
	t.Helper()
	inputs, err := filepath.Glob(filepath.Join(folder, "*.input"))
	require.NoError(t, err)
	for _, file := range inputs {
		answer := strings.TrimSuffix(file, ".input") + ".sig"
		if _, err := os.Stat(answer); err == nil {
			continue
		}
		input, err := os.ReadFile(file)
		require.NoError(t, err)
		use, _, _ := strings.Cut(filepath.Base(file), "-")
		var signature []byte
		if use == "rpm" {
			signature, err = rsa.SignPKCS1v15(nil, h.rpm, crypto.Hash(0), input)
		} else {
			signature, err = ecdsa.SignASN1(rand.Reader, h.bundle, input)
		}
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(answer, signature, 0o600))
		uses = append(uses, use)
	}
	return uses
}

// TestKeysOnAnotherHost: the same command runs until all signatures are there. Each round asks for all signatures that it
// can know, no round writes a finished bundle with placeholders, and the last one writes a bundle that rpm and dnf accept.
func TestKeysOnAnotherHost(t *testing.T) {
	bundletest.Need(t, "rpmkeys", "rpm")
	o, other, folder, out := connectedHost(t), newOtherHost(t), filepath.Join(t.TempDir(), "to-sign"), t.TempDir()
	o.Out, o.Keys = out, program.KeyOptions{Dir: t.TempDir(), Sign: publicFile(t, other.bundle), RPM: publicFile(t, other.rpm), Folder: folder}
	now := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC) // rpm refuses signatures from the future
	o.Now = func() time.Time {
		now = now.Add(24 * time.Hour) // a person takes a day for each round
		return now
	}
	var rounds []string
	for range 6 {
		done, err := Bundle(t.Context(), o)
		if err == nil {
			require.Equal(t, filepath.Join(out, "bank"), done.Dir)
			break
		}
		require.ErrorIs(t, err, signing.ErrPending)
		assert.Contains(t, advice.Of(err), "run the same command again")
		_, err = bundle.Open(filepath.Join(out, "bank"), &other.bundle.PublicKey)
		require.True(t, errors.Is(err, bundle.ErrPartial) || errors.Is(err, fs.ErrNotExist), "no bundle before all signatures are there: %v", err)
		uses := other.sign(t, folder)
		require.NotEmpty(t, uses, "each round asks for a signature")
		for _, use := range uses {
			require.Equal(t, uses[0], use)
		}
		rounds = append(rounds, uses[0])
	}
	assert.Equal(t, []string{"rpm", "rpm", "bundle"}, rounds, "the key itself, then the repository and airgap.rpm, then the bundle")

	dir := filepath.Join(out, "bank")
	b, err := bundle.Open(dir, &other.bundle.PublicKey)
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.Verify(t.Context(), ui.Discard()))
	checkRepository(t, b)
	checkProgramPackage(t, dir)
	again, err := Bundle(t.Context(), o)
	require.NoError(t, err)
	assert.True(t, again.Report.Complete, "the finished bundle needs no signature again")
}

// TestWrongSignatureFromElsewhere: a signature of another key is refused, and names its file.
func TestWrongSignatureFromElsewhere(t *testing.T) {
	o, folder := connectedHost(t), t.TempDir()
	other, wrong := newOtherHost(t), newOtherHost(t)
	o.Out, o.Keys = t.TempDir(), program.KeyOptions{Dir: t.TempDir(), New: true, RPM: publicFile(t, other.rpm), Folder: folder}
	_, err := Bundle(t.Context(), o)
	require.ErrorIs(t, err, signing.ErrPending)
	wrong.sign(t, folder)
	_, err = Bundle(t.Context(), o)
	require.ErrorContains(t, err, "it is no signature of this input by this key")
	require.NotErrorIs(t, err, signing.ErrPending)
	entries, err := os.ReadDir(o.Out)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// checkRepository verifies the signature of repomd.xml with the key of the bundle.
func checkRepository(t *testing.T, b *bundle.Bundle) {
	t.Helper()
	public, err := b.Attested(bundle.RPMKeyName)
	require.NoError(t, err)
	ring, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(public))
	require.NoError(t, err)
	repodata := bundle.RPMDir("el9") + "/repodata/"
	text, err := fs.ReadFile(b.FS(), repodata+"repomd.xml")
	require.NoError(t, err)
	signature, err := fs.ReadFile(b.FS(), repodata+"repomd.xml.asc")
	require.NoError(t, err)
	_, err = openpgp.CheckArmoredDetachedSignature(ring, bytes.NewReader(text), bytes.NewReader(signature), nil)
	require.NoError(t, err)
}

// checkProgramPackage lets the real rpm verify airgap.rpm with the key of the bundle.
func checkProgramPackage(t *testing.T, dir string) {
	t.Helper()
	db := t.TempDir()
	for _, args := range [][]string{{"--import", filepath.Join(dir, bundle.RPMKeyName)}, {"-Kv", filepath.Join(dir, "airgap.rpm")}} {
		said := rpmtest.Output(t, "rpmkeys", append([]string{"--dbpath", db}, args...)...)
		assert.NotContains(t, said, "NOKEY")
		assert.NotContains(t, said, "BAD")
	}
}
