package registry

import (
	"context"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/registry/trust"
)

func TestClient(t *testing.T) {
	f := bundletest.New(t)
	r := start(t, f.Open(t))
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	client, err := NewClient(r.addr, ca)
	must(t, err)
	pause := f.Images[2]
	index, _ := pause.Index.Digest()
	held, _ := pause.Held.Digest()
	for _, c := range []struct {
		repository, digest string
		want               bool
	}{
		{"registry.k8s.io/pause", index.String(), true},
		{"registry.k8s.io/pause", held.String(), true},
		{"registry.k8s.io/other", held.String(), false},
		{"registry.k8s.io/pause", "sha256:" + strings.Repeat("0", 64), false},
	} {
		if got, err := client.Has(context.Background(), c.repository, c.digest); err != nil || got != c.want {
			t.Errorf("Has(%s, %s) = %v, %v", c.repository, c.digest, got, err)
		}
	}
	if h, err := client.Health(context.Background()); err != nil || len(h.Bundles) != 1 || h.Bundles[0].Name != "test" {
		t.Errorf("Health = %+v, %v", h, err)
	}
	other := trust.PKI{Dir: t.TempDir()}
	must(t, other.Ensure(nil, time.Now()))
	wrong, err := os.ReadFile(other.CAFile())
	must(t, err)
	client, err = NewClient(r.addr, wrong)
	must(t, err)
	if _, err := client.Health(context.Background()); err == nil {
		t.Error("a registry with another CA was trusted")
	}
}

// TestRenewedCertificateIsServed: the registry may read the files between the two writes of a renewal.
func TestRenewedCertificateIsServed(t *testing.T) {
	r := start(t)
	first := r.serial(t)
	complete, err := os.ReadFile(r.pki.CertificateFile())
	must(t, err)
	must(t, os.WriteFile(r.pki.CertificateFile(), []byte("half-written"), 0o644))
	if got := r.serial(t); got.Cmp(first) != 0 {
		t.Errorf("serves %v while the file is incomplete, want the last certificate %v", got, first)
	}
	must(t, os.WriteFile(r.pki.CertificateFile(), complete, 0o644))
	must(t, r.pki.Ensure([]string{"registry.bank.example"}, time.Now()))
	if got := r.serial(t); got.Cmp(first) == 0 {
		t.Error("the old certificate is still served")
	}
}

// serial returns the serial number of the certificate on a new connection.
func (r *running) serial(t *testing.T) *big.Int {
	t.Helper()
	r.client.CloseIdleConnections()
	resp, err := r.client.Get(r.url("/v2/"))
	must(t, err)
	defer resp.Body.Close()
	return resp.TLS.PeerCertificates[0].SerialNumber
}
