package bundle_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sigstore/sigstore/pkg/signature"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

func newKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	must(t, err)
	return key
}

func pkcs8(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return asPEM("PRIVATE KEY", der)
}

func pkix(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	must(t, err)
	return asPEM("PUBLIC KEY", der)
}

func asPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func sec1(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	return asPEM("EC PRIVATE KEY", der)
}

func file(t *testing.T, text string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(path, []byte(text), mode))
	return path
}

// TestKeyIsMadeWhole: a run that was killed between the two keys leaves no private key,
// so the next run creates both.
func TestKeyIsMadeWhole(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "."+bundle.PublicKeyName+".airgap-new", "in the way"), 0o700))
	if _, err := bundle.LoadOrCreateKey(dir); err == nil {
		t.Fatal("the public key was written although a directory has the temporary name")
	}
	if _, err := bundle.LoadKey(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a private key exists without its public key: %v", err)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "."+bundle.PublicKeyName+".airgap-new")))
	key, err := bundle.LoadOrCreateKey(dir)
	must(t, err)
	public, err := bundle.LoadPublicKey(filepath.Join(dir, bundle.PublicKeyName))
	must(t, err)
	if !public.Equal(&key.PublicKey) {
		t.Error("the private and the public key do not match")
	}
}

func TestLoadSigningKey(t *testing.T) {
	key := newKey(t, elliptic.P256())
	large, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	legacy := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("secret"), Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}})
	for name, tc := range map[string]struct {
		text string
		mode fs.FileMode
		says string // "" for a valid key
	}{
		"PKCS#8":            {pkcs8(t, key), 0o600, ""},
		"SEC1":              {sec1(t, key), 0o400, ""},
		"parameters before": {asPEM("EC PARAMETERS", []byte{6, 8}) + sec1(t, key), 0o600, ""},
		"others can read":   {pkcs8(t, key), 0o640, "mode is 0640, so others can read it: want 0600"},
		"encrypted":         {asPEM("ENCRYPTED PRIVATE KEY", []byte("secret")), 0o600, "the key is encrypted"},
		"encrypted, old":    {string(legacy), 0o600, "the key is encrypted"},
		"P-521":             {pkcs8(t, newKey(t, elliptic.P521())), 0o600, "want an ECDSA P-256 or P-384 key, got ECDSA P-521"},
		"P-521 in SEC1":     {sec1(t, newKey(t, elliptic.P521())), 0o600, "got ECDSA P-521"},
		"RSA":               {pkcs8(t, large), 0o600, "got RSA"},
		"Ed25519":           {pkcs8(t, edwards), 0o600, "got Ed25519"},
		"public":            {pkix(t, &key.PublicKey), 0o600, "this is a public key"},
		"SSH's own form":    {asPEM("OPENSSH PRIVATE KEY", []byte("openssh-key-v1")), 0o600, `the PEM block is "OPENSSH PRIVATE KEY": want PRIVATE KEY`},
		"only parameters":   {asPEM("EC PARAMETERS", []byte{6, 8}), 0o600, "no PEM block"},
		"truncated":         {asPEM("PRIVATE KEY", []byte{48, 129}), 0o600, "asn1"},
		"garbage":           {"hello", 0o600, "no PEM block"},
		"empty":             {"", 0o600, "no PEM block"},
		"huge":              {strings.Repeat("x", 1<<20+1), 0o600, "larger than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, tc.text, tc.mode)
			got, err := bundle.LoadSigningKey(path)
			if tc.says == "" {
				if err != nil || !key.Equal(got) {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q of %s", err, tc.says, path)
			}
			if errors.Is(err, bundle.ErrEncryptedKey) != strings.HasPrefix(name, "encrypted") {
				t.Errorf("%v: wrong result of errors.Is with ErrEncryptedKey", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the key is in the error: %v", err)
			}
		})
	}
	if _, err := bundle.LoadSigningKey(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestSigningKeyFromAPipe: a key that openssl decrypts with a passphrase comes through
// a pipe.
func TestSigningKeyFromAPipe(t *testing.T) {
	key := newKey(t, elliptic.P256())
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	_, err = w.WriteString(pkcs8(t, key))
	must(t, errors.Join(err, w.Close()))
	got, err := bundle.LoadSigningKey(fmt.Sprintf("/dev/fd/%d", r.Fd()))
	if err != nil || !key.Equal(got) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestLoadPublicKey(t *testing.T) {
	key := newKey(t, elliptic.P256())
	large, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	public := pkix(t, &key.PublicKey)
	for name, tc := range map[string]struct{ text, says string }{
		"valid":              {"a word before\n" + public + "\n", ""},
		"private":            {pkcs8(t, key), "this is a private key, which stays with its owner"},
		"private, SEC1":      {sec1(t, key), "this is a private key"},
		"private, encrypted": {asPEM("ENCRYPTED PRIVATE KEY", []byte("x")), "this is a private key"},
		"certificate":        {asPEM("CERTIFICATE", []byte("x")), "this is a certificate: write its public key with openssl x509"},
		"P-521":              {pkix(t, newKey(t, elliptic.P521()).Public()), "want an ECDSA P-256 or P-384 key, got ECDSA P-521"},
		"RSA":                {pkix(t, &large.PublicKey), "got RSA"},
		"GPG":                {asPEM("PGP PUBLIC KEY BLOCK", []byte("x")), `the PEM block is "PGP PUBLIC KEY BLOCK"`},
		"two":                {public + public, "want one key per file"},
		"garbage":            {"hello", "no PEM block"},
		"huge":               {strings.Repeat("x", 1<<17), "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, tc.text, 0o644)
			got, err := bundle.LoadPublicKey(path)
			switch {
			case tc.says == "" && (err != nil || !key.PublicKey.Equal(got)):
				t.Errorf("got %v, %v", got, err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), path)):
				t.Errorf("got %v, want %q of %s", err, tc.says, path)
			}
		})
	}
}

func TestParseFingerprint(t *testing.T) {
	mark := bundle.Fingerprint(&newKey(t, elliptic.P256()).PublicKey)
	for text, want := range map[string]string{mark: mark, "sha256:" + strings.ToUpper(mark[7:]): mark} {
		if got, is, err := bundle.ParseFingerprint(text); got != want || !is || err != nil {
			t.Errorf("%s: %q, %v, %v", text, got, is, err)
		}
	}
	for _, text := range []string{"SHA256:", "SHA256:12", mark + "00", mark[:70] + "g"} {
		if _, is, err := bundle.ParseFingerprint(text); !is || err == nil {
			t.Errorf("%s: %v, %v", text, is, err)
		}
	}
	for _, text := range []string{"", "site.pub", "SHA256", mark[7:]} {
		if _, is, err := bundle.ParseFingerprint(text); is || err != nil {
			t.Errorf("%q: %v, %v", text, is, err)
		}
	}
}

// TestBundleSignedWithTheSitesKey creates keys with openssl in all its formats, and
// verifies their signatures with openssl.
func TestBundleSignedWithTheSitesKey(t *testing.T) {
	bundletest.Need(t, "openssl")
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	for name, made := range map[string][]string{
		"SEC1":   {"openssl", "ecparam", "-name", "prime256v1", "-genkey", "-out", "site.key"},
		"PKCS#8": {"openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "site.key"},
		"P-384":  {"openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384", "-out", "site.key"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, dir := t.TempDir(), filepath.Join(t.TempDir(), "stick")
			tool(t, keys, made...)
			tool(t, keys, "openssl", "pkey", "-in", "site.key", "-pubout", "-out", "site.pub")
			must(t, os.Chmod(filepath.Join(keys, "site.key"), 0o600))
			o := options(t)
			var err error
			o.Signer, err = bundle.LoadSigningKey(filepath.Join(keys, "site.key"))
			must(t, err)
			_, err = bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
			must(t, err)
			wantSums(t, dir)
			tool(t, dir, "openssl", "dgst", "-sha256", "-verify", filepath.Join(keys, "site.pub"), "-signature", "SHA256SUMS.sig", "SHA256SUMS")
			public, err := bundle.LoadPublicKey(filepath.Join(keys, "site.pub"))
			must(t, err)
			b, err := bundle.Open(dir, public)
			must(t, err)
			b.Close()
		})
	}
	t.Run("encrypted", func(t *testing.T) {
		keys := t.TempDir()
		tool(t, keys, "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes-256-cbc", "-pass", "pass:pw", "-out", "site.key")
		must(t, os.Chmod(filepath.Join(keys, "site.key"), 0o600))
		if _, err := bundle.LoadSigningKey(filepath.Join(keys, "site.key")); !errors.Is(err, bundle.ErrEncryptedKey) {
			t.Errorf("got %v", err)
		}
	})
}

// TestSigstoreVerifies: the library that cosign uses can verify the signature, without
// airgap.
func TestSigstoreVerifies(t *testing.T) {
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	o, dir := options(t), filepath.Join(t.TempDir(), "stick")
	_, err := bundle.Write(background, u.plan(t, images...), dir, o, ui.Discard())
	must(t, err)
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		return text
	}
	block, _ := pem.Decode(read(bundle.PublicKeyName))
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	must(t, err)
	sums, signed := read(bundle.SumsName), read(bundle.SignatureName)
	verifier, err := signature.LoadVerifier(public, crypto.SHA256)
	must(t, err)
	must(t, verifier.VerifySignature(bytes.NewReader(signed), bytes.NewReader(sums)))
	sums[0] ^= 1
	if verifier.VerifySignature(bytes.NewReader(signed), bytes.NewReader(sums)) == nil {
		t.Error("sigstore accepted changed sums")
	}
	other, err := signature.LoadVerifier(newKey(t, elliptic.P256()).Public(), crypto.SHA256)
	must(t, err)
	if other.VerifySignature(bytes.NewReader(signed), bytes.NewReader(read(bundle.SumsName))) == nil {
		t.Error("sigstore accepted another key")
	}
}
