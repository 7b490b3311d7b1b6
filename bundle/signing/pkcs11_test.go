package signing_test

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/bundle/signing"
)

// scriptOf returns the script for --signer in docs/signing.md.
func scriptOf(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/signing.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)```\n(#!/bin/sh\n.*?)```").FindSubmatch(text)
	require.NotNil(t, found, "docs/signing.md has no script")
	return string(found[1])
}

// softHSM returns a program that signs with keys of a token, and the public keys.
func softHSM(t *testing.T) (program string, public map[string]crypto.PublicKey) {
	t.Helper()
	bundletest.Need(t, "softhsm2-util", "pkcs11-tool")
	modules, err := filepath.Glob("/usr/lib*/*/softhsm/libsofthsm2.so")
	require.NoError(t, err)
	more, err := filepath.Glob("/usr/lib*/softhsm/libsofthsm2.so")
	require.NoError(t, err)
	modules = append(modules, more...)
	require.NotEmpty(t, modules, "SoftHSM has no module")
	dir := t.TempDir()
	conf, pin := filepath.Join(dir, "softhsm2.conf"), filepath.Join(dir, "pin")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tokens"), 0o700))
	require.NoError(t, os.WriteFile(conf, []byte("directories.tokendir = "+filepath.Join(dir, "tokens")+"\nobjectstore.backend = file\nlog.level = ERROR\n"), 0o600))
	require.NoError(t, os.WriteFile(pin, []byte("246810\n"), 0o600))
	env := []string{"SOFTHSM2_CONF=" + conf}
	run(t, env, "softhsm2-util", "--init-token", "--free", "--label", "airgap", "--so-pin", "13579", "--pin", "246810")
	public = map[string]crypto.PublicKey{}
	for id, use := range map[string]string{"01": "bundle", "02": "rpm"} {
		kind := map[string]string{"bundle": "EC:prime256v1", "rpm": "rsa:2048"}[use]
		at := filepath.Join(dir, use+".der")
		run(t, env, "pkcs11-tool", "--module", modules[0], "--token-label", "airgap", "--login", "--pin", "246810", "--keypairgen", "--key-type", kind, "--id", id, "--label", use, "--usage-sign")
		run(t, env, "pkcs11-tool", "--module", modules[0], "--token-label", "airgap", "--read-object", "--type", "pubkey", "--id", id, "--output-file", at)
		der, err := os.ReadFile(at)
		require.NoError(t, err)
		public[use], err = x509.ParsePKIXPublicKey(der)
		require.NoError(t, err)
	}
	text := strings.NewReplacer("/usr/lib64/pkcs11/libsofthsm2.so", modules[0], "/etc/airgap-signing/pin", pin).Replace(scriptOf(t))
	text = strings.Replace(text, "\n", "\nexport SOFTHSM2_CONF="+conf+"\n", 1)
	program = filepath.Join(dir, "sign-in-hsm")
	require.NoError(t, os.WriteFile(program, []byte(text), 0o700))
	return program, public
}

// TestPKCS11: the script in docs/signing.md signs with an HSM, for bundles and for packages. The private keys never
// leave the token.
func TestPKCS11(t *testing.T) {
	program, public := softHSM(t)
	key, err := signing.New("bundle", public["bundle"], signing.Program(t.Context(), program))
	require.NoError(t, err)
	signature, err := key.Sign(nil, digest(), crypto.SHA256)
	require.NoError(t, err)
	check(t, public["bundle"], signature)

	der, err := x509.MarshalPKIXPublicKey(public["rpm"])
	require.NoError(t, err)
	of := func(public *rsa.PublicKey) (crypto.Signer, error) {
		return signing.New("rpm", public, signing.Program(t.Context(), program))
	}
	packages, err := rpm.External(inPEM(der), of)
	require.NoError(t, err)
	armored, err := packages.Public()
	require.NoError(t, err)
	again, err := rpm.External(armored, of)
	require.NoError(t, err)
	require.Equal(t, packages.Keyring().Fingerprints(), again.Keyring().Fingerprints(), "the same key has the same fingerprint")
	text, err := again.ArmoredSign(bytes.NewReader([]byte("repomd")), signedAt)
	require.NoError(t, err)
	checkWithGPG(t, armored, text)
}
