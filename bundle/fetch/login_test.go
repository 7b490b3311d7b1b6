package fetch

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/rpm"
)

// subscription is a client certificate and its key in one PEM file, with blocks of
// other types, like Red Hat's files.
func subscription(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "subscriber 4711"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for kind, data := range map[string][]byte{"CERTIFICATE": der, "PRIVATE KEY": private, "ENTITLEMENT DATA": []byte("x")} {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data})...)
	}
	path := filepath.Join(t.TempDir(), "entitlement.pem")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLogin: servers report the login that they received.
func TestLogin(t *testing.T) {
	var server, other *httptest.Server
	report := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/away") {
			http.Redirect(w, r, other.URL+"/there", http.StatusFound)
			return
		}
		switch r.URL.Path {
		case "/rhel/away/and/back":
			http.Redirect(w, r, other.URL+"/back", http.StatusFound)
			return
		case "/back":
			http.Redirect(w, r, server.URL+"/rhel/there", http.StatusFound)
			return
		}
		who := "none"
		if len(r.TLS.PeerCertificates) > 0 {
			who = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		user, password, _ := r.BasicAuth()
		fmt.Fprintf(w, "%s %s:%s", who, user, password)
	})
	start := func() *httptest.Server {
		s := httptest.NewUnstartedServer(report)
		s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	server = start()
	other = start()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(Sources{CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	c.Attempts = 1
	t.Setenv("NEXUS", "fr0mEnv")
	err = c.Use(Login{server.URL + "/rhel/", rpm.Login{ClientCert: subscription(t)}}, Login{server.URL + "/nexus", rpm.Login{Username: "me", PasswordFile: password}},
		Login{server.URL + "/nexus/inner", rpm.Login{Username: "me", PasswordEnv: "NEXUS"}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/rhel/repodata/repomd.xml": "subscriber 4711 :",
		"/rhel8/x":                  "none :",
		"/nexus/x":                  "none me:s3cret",
		"/nexus/inner/x":            "none me:fr0mEnv",
		"/nexus/away":               "none :", // another port is another origin
		"/rhel/away":                "none :", // Pulp redirects to object storage, which gets no certificate
		"/rhel/away/and/back":       "none :",
		"/nexus/../other":           "none :",
		"/":                         "none :",
	} {
		body, _, err := c.Open(t.Context(), server.URL+path, 0)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got, err := io.ReadAll(body)
		body.Close()
		if err != nil || string(got) != want {
			t.Errorf("%s was asked by %q, want %q (%v)", path, got, want, err)
		}
	}
}

func TestLoginRefuses(t *testing.T) {
	c, err := NewClient(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for want, l := range map[string]rpm.Login{
		"no such file":                     {Username: "me", PasswordFile: "/nonexistent"},
		"variable NOT_SET is not set":      {Username: "me", PasswordEnv: "NOT_SET"},
		"open /nonexistent/cert.pem":       {ClientCert: "/nonexistent/cert.pem"},
		"at https://me.example/x: open /n": {ClientCert: "/nonexistent/cert.pem"},
	} {
		if err := c.Use(Login{"https://me.example/x", l}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestRefusedHandshakeIsNotRetried: a server that requires a client certificate gets
// one request, and the error names the settings for a login.
func TestRefusedHandshakeIsNotRetried(t *testing.T) {
	var handshakes atomic.Int32
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		handshakes.Add(1)
		return nil, nil
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(Sources{CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Open(t.Context(), s.URL+"/repodata/repomd.xml", 0)
	if err == nil || !strings.Contains(err.Error(), "certificate required; set login in packages.repositories or in sources.rewrite") {
		t.Errorf("without a certificate: %v", err)
	}
	if n := handshakes.Load(); n != 1 {
		t.Errorf("the server got %d handshakes, want 1", n)
	}
}
