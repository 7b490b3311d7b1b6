package trust

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// signedReceipt returns a receipt of the bundles and the CAHash of its CA.
func signedReceipt(t testing.TB, pki PKI, bundles []*bundle.Bundle) (text []byte, caHash string) {
	t.Helper()
	r, err := NewReceipt("cp1", time.Unix(1_700_100_000, 0), bundle.NewestFirst(bundles))
	must(t, err)
	text, caHash, err = pki.SignReceipt(r)
	must(t, err)
	return text, caHash
}

func TestReceipt(t *testing.T) {
	base, delta := bundletest.BaseAndDelta(t)
	bundles := []*bundle.Bundle{base.Open(t), delta.Open(t)}
	pki := PKI{Dir: t.TempDir()}
	must(t, pki.Ensure(nil, time.Now()))
	text, caHash := signedReceipt(t, pki, bundles)
	if hash, err := CAHashOf(pki.CAFile()); err != nil || hash != caHash {
		t.Errorf("signed by %s, the CA is %s", caHash, hash)
	}
	r, err := ReadReceipt(text, strings.ToUpper(caHash))
	must(t, err)
	if r.Host != "cp1" || r.Cluster != "test" || !slices.Equal(r.Bundles, []string{"test-delta-1", "test"}) || !r.Newest.Equal(delta.Open(t).Index().Created) {
		t.Errorf("receipt: %s of %s, %v, newest of %s", r.Cluster, r.Host, r.Bundles, r.Newest)
	}
	if want := delta.Open(t).Index().Lock.Images[0]; r.Images[want.Name] != want.Digest {
		t.Errorf("%s is %s, want %s", want.Name, r.Images[want.Name], want.Digest)
	}
	for _, b := range bundles {
		for _, e := range b.Index().Files {
			if !slices.Contains(r.Files, bundle.Held{Path: e.Path, Size: e.Size, SHA256: e.SHA256}) {
				t.Errorf("the receipt does not list %s of %s", e.Path, b.Index().Name)
			}
		}
	}
	if _, err := NewReceipt("cp1", time.Now(), nil); err == nil {
		t.Error("an empty store has a receipt")
	}
	must(t, os.Remove(pki.CAKeyFile()))
	if _, _, err := pki.SignReceipt(*r); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("signed without the CA's key: %v", err)
	}
}

func TestReceiptIsRefused(t *testing.T) {
	pki, other := PKI{Dir: t.TempDir()}, PKI{Dir: t.TempDir()}
	must(t, pki.Ensure(nil, time.Now()))
	must(t, other.Ensure(nil, time.Now()))
	bundles := []*bundle.Bundle{bundletest.New(t).Open(t)}
	text, caHash := signedReceipt(t, pki, bundles)
	forged, forger := signedReceipt(t, other, bundles)
	end := bytes.Index(text, []byte(receiptEnd)) + 1
	signature := func(text []byte) int { return bytes.Index(text, []byte("-----BEGIN "+signatureBlock)) }
	replace := func(old, by string) []byte { return bytes.Replace(text, []byte(old), []byte(by), 1) }
	for name, tt := range map[string]struct {
		text    []byte
		message string
	}{
		"empty text":            {nil, "it has no signature"},
		"no signature":          {text[:end], "it has no signature"},
		"certificate alone":     {text[:signature(text)], "it has no signature"},
		"another host":          {replace(`"cp1"`, `"cp2"`), "the signature is wrong"},
		"an additional file":    {replace(`"files": [`, `"files": [{"path":"x"},`), "the signature is wrong"},
		"text at the end":       {append(bytes.Clone(text), "x"...), "text after the signature"},
		"another's certificate": {slices.Concat(text[:end], forged[end:signature(forged)], text[signature(text):]), "the signature is wrong"},
		"no certificate":        {slices.Concat(text[:end], text[signature(text):]), "certificate is missing"},
	} {
		if _, err := ReadReceipt(tt.text, caHash); !errors.Is(err, ErrReceipt) || !strings.Contains(err.Error(), tt.message) {
			t.Errorf("%s: %v, want %q", name, err, tt.message)
		}
	}
	var wrong *AuthorityError
	if _, err := ReadReceipt(forged, caHash); !errors.As(err, &wrong) || wrong.Shown != forger || wrong.Want != caHash {
		t.Errorf("receipt of another CA: %v", err)
	}
	if _, err := ReadReceipt(text, ""); !errors.As(err, &wrong) || wrong.Shown != caHash || !strings.Contains(err.Error(), "you have not confirmed") {
		t.Errorf("a CA without confirmation: %v", err)
	}
	for name, spoil := range map[string]func(r *Receipt){
		"version 9":                   func(r *Receipt) { r.Version = 9 },
		"the inventory has no bundle": func(r *Receipt) { r.Bundles = nil },
		`path "../x" is not`:          func(r *Receipt) { r.Files[0].Path = "../x" },
		`name "a b"`:                  func(r *Receipt) { r.Cluster = "a b" },
		`"x" is not a SHA-256`:        func(r *Receipt) { r.Files[0].SHA256 = "x" },
		"files/hello.txt: invalid size -1": func(r *Receipt) {
			r.Files[0] = bundle.Held{Path: "files/hello.txt", Size: -1, SHA256: r.Files[0].SHA256}
		},
	} {
		r, err := NewReceipt("cp1", time.Now(), bundles)
		must(t, err)
		spoil(&r)
		signed, _, err := pki.SignReceipt(r)
		must(t, err)
		if _, err := ReadReceipt(signed, caHash); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}

// TestOpensslReadsTheReceipt: openssl can verify a receipt without airgap.
func TestOpensslReadsTheReceipt(t *testing.T) {
	bundletest.Need(t, "openssl")
	pki, dir := PKI{Dir: t.TempDir()}, t.TempDir()
	must(t, pki.Ensure(nil, time.Now()))
	text, _ := signedReceipt(t, pki, []*bundle.Bundle{bundletest.New(t).Open(t)})
	must(t, os.WriteFile(filepath.Join(dir, "receipt"), text, 0o644))
	cmd := exec.Command("sh", "-ec", `
sed '/^-----BEGIN/,$d' receipt >body
openssl x509 -in receipt -noout -pubkey >key
sed -n '/BEGIN AIRGAP/,/END AIRGAP/p' receipt | sed '/-----/d' | openssl base64 -d >signature
openssl dgst -sha256 -verify key -signature signature body`)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// FuzzReceipt: ReadReceipt accepts only the signed text.
func FuzzReceipt(f *testing.F) {
	pki := PKI{Dir: f.TempDir()}
	must(f, pki.Ensure(nil, time.Now()))
	small := Receipt{Version: receiptVersion, Host: "cp1", Inventory: bundle.Inventory{
		Cluster: "test", Bundles: []string{"test"}, Files: []bundle.Held{{Path: "files/a", Size: 1, SHA256: strings.Repeat("0", 64)}},
	}}
	text, caHash, err := pki.SignReceipt(small)
	must(f, err)
	if _, err := ReadReceipt(text, caHash); err != nil {
		f.Fatal(err)
	}
	signed := text[:bytes.Index(text, []byte(receiptEnd))+1]
	f.Add(text)
	f.Add(signed)
	f.Add([]byte("{}\n-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := ReadReceipt(data, caHash); err == nil && !bytes.HasPrefix(data, signed) {
			t.Errorf("accepted %q", data)
		}
	})
}
