package nodereport

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKubeletDriver: only the certificate on the host is trusted, even if it has expired.
func TestKubeletDriver(t *testing.T) {
	cert, key := identity(t, "w1", time.Now().Add(-time.Hour))
	status, answer := http.StatusOK, `{"kubeletconfig":{"cgroupDriver":"systemd"}}`
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/configz" || len(r.TLS.PeerCertificates) != 1 || r.TLS.PeerCertificates[0].Subject.CommonName != "system:node:w1" {
			status = http.StatusUnauthorized
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	serving, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	s.TLS = &tls.Config{Certificates: []tls.Certificate{serving}, ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	defer s.Close()

	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	mine, secret := identity(t, "system:node:w1", time.Now().Add(time.Hour))
	k := Kubelet{URL: s.URL, CertFiles: []string{filepath.Join(dir, "none.pem"), write("kubelet.crt", cert)}}
	k.Kubeconfig = write("kubelet.conf", `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {client-certificate: `+write("c.pem", mine)+`, client-key: `+write("k.pem", secret)+`}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`)
	if got, err := k.Driver(t.Context()); err != nil || got != "systemd" {
		t.Errorf("got %q, %v", got, err)
	}

	fails := func(k Kubelet, want string) {
		t.Helper()
		if got, err := k.Driver(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "ask the kubelet for its configuration: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	status = http.StatusForbidden
	fails(k, "answered 403 Forbidden")
	status, answer = http.StatusOK, "{}"
	fails(k, "has no cgroup driver")
	answer = "<html>"
	fails(k, "invalid character")
	other := k
	other.CertFiles = []string{write("other.crt", certificate(t, "w1", time.Now().Add(time.Hour)))}
	fails(other, "certificate")
	other.CertFiles = k.CertFiles[:1]
	fails(other, "find its serving certificate: no certificate in")
	k.Kubeconfig += ".none"
	fails(k, "no such file")
}
