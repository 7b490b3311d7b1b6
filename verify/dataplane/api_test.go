package dataplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPI: the account's files are read for each request, the size of answers is limited, and an
// error has the server's message.
func TestAPI(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/large":
			w.Write(make([]byte, longestAnswer+1))
		case r.Header.Get("Authorization") != "Bearer second":
			http.Error(w, `{"kind":"Status","message":"the token is not the second"}`, http.StatusUnauthorized)
		default:
			w.Write([]byte(`{"spec":{"clusterIP":"10.96.0.9","ports":[{"port":80,"nodePort":30412}]}}`))
		}
	}
	server := httptest.NewTLSServer(http.HandlerFunc(answer))
	defer server.Close()
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	api := NewAPI(server.URL, dir)
	ask := func() error {
		_, err := api.ownService(t.Context(), reached{})
		return err
	}
	wants := func(name, want string) {
		t.Helper()
		if err := ask(); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	wants("no account", "read the pod's account")
	put("token", "first\n")
	put("ca.crt", "no certificate")
	wants("no CA", "no certificate in")
	put("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	wants("the first token", "the token is not the second")
	put("token", "second\n")
	wants("the second token", "")
	if _, err := api.ask(t.Context(), http.MethodGet, "/large", "application/json", nil); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a large answer: got %v", err)
	}
}

// TestRotatedCA: the client is replaced when the file has another CA.
func TestRotatedCA(t *testing.T) {
	api := NewAPI("https://127.0.0.1", t.TempDir())
	one, two := newCA(t, 1), newCA(t, 2)
	first, errFirst := api.clientFor(one)
	same, errSame := api.clientFor(one)
	next, errNext := api.clientFor(two)
	if errFirst != nil || errSame != nil || errNext != nil || first != same || next == first {
		t.Errorf("got clients %p, %p, %p: %v, %v, %v", first, same, next, errFirst, errSame, errNext)
	}
}

func newCA(t *testing.T, serial int64) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
