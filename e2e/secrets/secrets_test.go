package secrets

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"io"
	mrand "math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/crypto/ssh"
)

func bookOf(t *testing.T, value string) *Search {
	t.Helper()
	var b Book
	if err := b.Add(Code, "it", value); err != nil {
		t.Fatal(err)
	}
	return NewSearch(b.List())
}

// TestForms searches for a value in all its encodings.
func TestForms(t *testing.T) {
	const value = "abcdef.0123456789abcdef"
	s := bookOf(t, value)
	for name, text := range map[string]string{
		"plain":            "token: " + value + "\n",
		"alone":            value,
		"hexadecimal":      hex.EncodeToString([]byte("x" + value)),
		"base64":           base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 after 1":   base64.StdEncoding.EncodeToString([]byte("x" + value + "y")),
		"base64 after 2":   base64.StdEncoding.EncodeToString([]byte("xx" + value + "yy")),
		"base64 after 3":   base64.StdEncoding.EncodeToString([]byte("xxx" + value + "yyy")),
		"base64 in a URL":  base64.RawURLEncoding.EncodeToString([]byte("user:" + value)),
		"between binaries": "\x00\xff" + value + "\x00",
	} {
		if got := s.In([]byte(text)); len(got) != 1 || got[0].Name != "it" {
			t.Errorf("%s: found %v in %q", name, got, text)
		}
	}
	for _, text := range []string{"", "abcdef.0123456789abcde", strings.ToUpper(value), "abcdef 0123456789abcdef"} {
		if got := s.In([]byte(text)); len(got) > 0 {
			t.Errorf("found %v in %q", got, text)
		}
	}
	if err := new(Book).Add(Password, "short", "hunter2"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v for a short secret, want an error without the secret", err)
	}
}

// TestSearchAgainstPlain compares Search with bytes.Contains on random texts over a
// small alphabet, also read in small pieces.
func TestSearchAgainstPlain(t *testing.T) {
	random := mrand.New(mrand.NewPCG(1, 2))
	word := func(n int) []byte {
		w := make([]byte, n)
		for i := range w {
			w[i] = "ab"[random.IntN(2)]
		}
		return w
	}
	hits := 0
	for range 300 {
		var list []Secret
		for range 5 {
			list = append(list, Secret{pieces: [][]byte{word(minimal + random.IntN(3))}})
		}
		s := NewSearch(list)
		text := word(random.IntN(6000))
		var want []int
		for i, secret := range list {
			if bytes.Contains(text, secret.pieces[0]) {
				want = append(want, i)
			}
		}
		hits += len(want)
		if got := s.In(text); len(got) != len(want) {
			t.Fatalf("found %d, want %d in %q", len(got), len(want), text)
		}
		for _, r := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))} {
			got, size, err := s.InReader(r, make([]byte, 64))
			if err != nil || len(got) != len(want) || size != int64(len(text)) {
				t.Fatalf("read: found %d in %d bytes, %v; want %d", len(got), size, err, len(want))
			}
		}
	}
	if hits < 50 {
		t.Fatalf("the texts have %d secrets, want at least 50", hits)
	}
}

// TestKeys finds private keys of each kind in their files and in a kubeconfig, and does
// not find them in their public keys.
func TestKeys(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	openssh, err := ssh.MarshalPrivateKey(ed, "lab")
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) *pem.Block {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return &pem.Block{Type: "PRIVATE KEY", Bytes: der}
	}
	for name, tc := range map[string]struct {
		block  *pem.Block
		public any
	}{
		"ECDSA SEC1":  {&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1}, &ec.PublicKey},
		"ECDSA PKCS8": {pkcs8(ec), &ec.PublicKey},
		"RSA PKCS1":   {&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(r)}, &r.PublicKey},
		"RSA PKCS8":   {pkcs8(r), &r.PublicKey},
		"Ed25519":     {pkcs8(ed), ed.Public()},
		"OpenSSH":     {openssh, ed.Public()},
	} {
		t.Run(name, func(t *testing.T) {
			text := pem.EncodeToMemory(tc.block)
			var b Book
			if err := b.AddKey(Key, "key", text); err != nil {
				t.Fatal(err)
			}
			s := NewSearch(b.List())
			for form, where := range map[string][]byte{
				"PEM":          text,
				"DER":          tc.block.Bytes,
				"JSON":         bytes.ReplaceAll(text, []byte("\n"), []byte(`\n`)),
				"kubeconfig 0": []byte("client-key-data: " + base64.StdEncoding.EncodeToString(text)),
				"kubeconfig 1": []byte("client-key-data: " + base64.StdEncoding.EncodeToString(append([]byte("x"), text...))),
				"kubeconfig 2": []byte("client-key-data: " + base64.StdEncoding.EncodeToString(append([]byte("xx"), text...))),
			} {
				if len(s.In(where)) != 1 {
					t.Errorf("the key is not found in %s", form)
				}
			}
			public, err := x509.MarshalPKIXPublicKey(tc.public)
			if err != nil {
				t.Fatal(err)
			}
			for _, harmless := range [][]byte{public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})} {
				if len(s.In(harmless)) > 0 {
					t.Error("the private key is found in its public key")
				}
			}
			for _, p := range s.pieces {
				if len(p.text) < 16 {
					t.Errorf("got a piece of %d bytes, want at least 16", len(p.text))
				}
			}
		})
	}
	if err := new(Book).AddKey(Key, "none", []byte("-----BEGIN PRIVATE")); err == nil {
		t.Error("got no error for a text without a key")
	}
}

func BenchmarkSearch(b *testing.B) {
	var list []Secret
	for range 200 {
		value := make([]byte, 24)
		_, _ = rand.Read(value)
		list = append(list, Secret{pieces: forms([]byte(hex.EncodeToString(value)))})
	}
	s := NewSearch(list)
	text := make([]byte, 64<<20)
	random := mrand.NewChaCha8([32]byte{})
	_, _ = random.Read(text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.look(text, map[int]bool{})
	}
}
