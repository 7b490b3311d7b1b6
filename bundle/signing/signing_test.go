package signing_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/signing"
	"airgap.dev/airgap/internal/advice"
)

// digest is of the text that the tests sign.
func digest() []byte {
	sum := sha256.Sum256([]byte("SHA256SUMS\n"))
	return sum[:]
}

// check verifies a signature with Go's own functions.
func check(t *testing.T, public crypto.PublicKey, signature []byte) {
	t.Helper()
	switch key := public.(type) {
	case *rsa.PublicKey:
		require.NoError(t, rsa.VerifyPKCS1v15(key, crypto.SHA256, digest(), signature))
	case *ecdsa.PublicKey:
		require.True(t, ecdsa.VerifyASN1(key, digest(), signature))
	default:
		t.Fatalf("%T", public)
	}
}

func run(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sign")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nset -eu\n"+text+"\n"), 0o700))
	return path
}

// keys writes the private keys of all supported kinds to dir.
func keys(t *testing.T, dir string) map[string]crypto.Signer {
	t.Helper()
	all := map[string]crypto.Signer{}
	var err error
	all["rsa"], err = rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	for name, curve := range map[string]elliptic.Curve{"p256": elliptic.P256(), "p384": elliptic.P384()} {
		all[name], err = ecdsa.GenerateKey(curve, rand.Reader)
		require.NoError(t, err)
	}
	for name, key := range all {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	}
	return all
}

// TestProgram: a program signs with openssl, as docs/signing.md says.
func TestProgram(t *testing.T) {
	bundletest.Need(t, "openssl")
	dir := t.TempDir()
	for name, private := range keys(t, dir) {
		t.Run(name, func(t *testing.T) {
			sign := func(text string) ([]byte, error) {
				key, err := signing.New("bundle", private.Public(), signing.Program(t.Context(), script(t, text)))
				require.NoError(t, err)
				return key.Sign(nil, digest(), crypto.SHA256)
			}
			openssl := "openssl pkeyutl -sign -inkey " + filepath.Join(dir, name+".key") + ` -in "$in"`
			signature, err := sign(`in=$(mktemp); trap 'rm -f "$in"' EXIT; cat >"$in"; [ "$AIRGAP_SIGN_USE" = bundle ]; ` + openssl)
			require.NoError(t, err)
			check(t, private.Public(), signature)

			_, err = sign("cat")
			require.ErrorContains(t, err, "it is no signature of this input by this key")
			_, err = sign("cat >/dev/null")
			require.ErrorContains(t, err, "printed no signature")
			_, err = sign("cat >/dev/null; head -c 100000 /dev/zero")
			require.ErrorContains(t, err, "printed more than 4096 bytes")
			_, err = sign("cat >/dev/null; echo 'the token is locked' >&2; exit 3")
			require.ErrorContains(t, err, "the token is locked")
		})
	}
}

// TestFolder: the inputs go out, the signatures come in. A signature of another key or input is refused.
func TestFolder(t *testing.T) {
	bundletest.Need(t, "openssl")
	dir := t.TempDir()
	for name, private := range keys(t, dir) {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "exchange")
			ask := func() ([]byte, *signing.Folder, error) {
				f := &signing.Folder{Dir: out}
				key, err := signing.New("bundle", private.Public(), f.Signature)
				require.NoError(t, err)
				signature, err := key.Sign(nil, digest(), crypto.SHA256)
				return signature, f, err
			}
			_, f, err := ask()
			if name == "rsa" {
				require.NoError(t, err, "a placeholder, so that one run asks for all signatures of a package")
			} else {
				require.ErrorIs(t, err, signing.ErrPending)
			}
			missing := f.Missing()
			require.ErrorContains(t, missing, ".input in "+out)
			assert.Contains(t, advice.Of(missing), "TO-SIGN.txt says")

			list, err := os.ReadFile(filepath.Join(out, "TO-SIGN.txt"))
			require.NoError(t, err)
			var command string
			for line := range strings.Lines(string(list)) {
				if strings.HasPrefix(line, "  openssl ") {
					command = strings.ReplaceAll(line, "KEY.pem", filepath.Join(dir, name+".key"))
				}
			}
			other := map[string]string{"rsa": "p256", "p256": "p384", "p384": "p256"}[name]
			run(t, nil, "sh", "-ec", "cd "+out+"\n"+strings.ReplaceAll(command, name+".key", other+".key"))
			_, _, err = ask()
			require.ErrorContains(t, err, "it is no signature of this input by this key")

			run(t, nil, "sh", "-ec", "cd "+out+"\n"+command)
			signature, f, err := ask()
			require.NoError(t, err)
			require.NoError(t, f.Missing())
			check(t, private.Public(), signature)
		})
	}
	var none *signing.Folder
	require.NoError(t, none.Missing())
}

// TestHostileFolder: files from another host are regular files of a few bytes.
func TestHostileFolder(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	f := &signing.Folder{Dir: t.TempDir()}
	key, err := signing.New("bundle", private.Public(), f.Signature)
	require.NoError(t, err)
	_, err = key.Sign(nil, digest(), crypto.SHA256)
	require.ErrorIs(t, err, signing.ErrPending)
	inputs, err := filepath.Glob(filepath.Join(f.Dir, "*.input"))
	require.NoError(t, err)
	require.Len(t, inputs, 1)
	signature := strings.TrimSuffix(inputs[0], ".input") + ".sig"
	for says, put := range map[string]func() error{
		"want a regular file":                          func() error { return os.Symlink("/etc/hostname", signature) },
		"want a signature, 1 to 4096 bytes":            func() error { return os.WriteFile(signature, make([]byte, 5000), 0o600) },
		"it is no signature of this input by this key": func() error { return os.WriteFile(signature, []byte("x"), 0o600) },
	} {
		require.NoError(t, put())
		_, err = key.Sign(nil, digest(), crypto.SHA256)
		require.ErrorContains(t, err, says)
		require.NoError(t, os.Remove(signature))
	}
}
