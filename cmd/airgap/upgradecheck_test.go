package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
)

// keyPair is a certificate that signs itself, and its key.
func keyPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	certificate = pemOf(t, "CERTIFICATE", der, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	return certificate, pemOf(t, "PRIVATE KEY", secret, err)
}

func putFiles(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := host.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// withEtcd is a host with a member of etcd that gives these answers, by the ends of
// their paths.
func withEtcd(t *testing.T, answers map[string]string) kubeadm.Machine {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, answers[strings.TrimPrefix(r.URL.Path, "/v3/maintenance/")])
	}))
	t.Cleanup(server.Close)
	m := kubeadm.Machine{Host: host.Local{}, Root: t.TempDir(), EtcdURL: server.URL}
	certificate, key := keyPair(t)
	putFiles(t, m.Root, map[string]string{
		"/etc/kubernetes/manifests/etcd.yaml":             "kind: Pod\n",
		"/etc/kubernetes/pki/etcd/ca.crt":                 pemOf(t, "CERTIFICATE", server.Certificate().Raw, nil),
		"/etc/kubernetes/pki/etcd/healthcheck-client.crt": certificate,
		"/etc/kubernetes/pki/etcd/healthcheck-client.key": key,
	})
	return m
}

// TestFullEtcdStopsTheUpgrade: before anything else is asked, let alone changed.
func TestFullEtcdStopsTheUpgrade(t *testing.T) {
	m := withEtcd(t, map[string]string{"alarm": `{"alarms":[{"memberID":"7","alarm":"NOSPACE"}]}`})
	u := &upgrade{site: &site{config: clusterFrom(t), machine: m}, p: ui.Discard()}
	err := u.undisturbed(t.Context())
	if err == nil || !strings.Contains(err.Error(), "etcd is full") || !strings.Contains(adviceOf(err), "alarm disarm") {
		t.Errorf("got %v, advice %q", err, adviceOf(err))
	}
}
