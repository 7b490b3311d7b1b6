package fetch

import (
	"crypto/x509"
	"net/http"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/proxytest"
)

// TestHosts: IPv6 literals with and without a port, upper case, and private addresses are asked by https, also in
// errors.
func TestHosts(t *testing.T) {
	n := newNetwork(t)
	for host, dialed := range map[string]string{
		"[fd00::1]":         "[fd00::1]:443",
		"[fd00::1]:5000":    "[fd00::1]:5000",
		"Upstream.EXAMPLE":  "Upstream.EXAMPLE:443",
		"10.1.2.3:5000":     "10.1.2.3:5000",
		"registry.local:81": "registry.local:81",
	} {
		n.proxy.Set(nil)
		c := n.client(t)
		repo, err := c.Repository(host + "/team/app")
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		if _, err := c.Manifest(t.Context(), repo.Tag("1")); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if asked := n.proxy.Asked(); !strings.Contains(strings.Join(asked, "\n"), "CONNECT "+dialed) {
			t.Errorf("%s: %q", host, asked)
		}
		n.proxy.Set(func(*http.Request) proxytest.Fault { return proxytest.Fault{Status: 404} })
		_, err = c.OpenBlob(t.Context(), repo, "sha256:"+strings.Repeat("0", 64), All())
		if err == nil || !strings.Contains(err.Error(), "https://"+host+"/v2/team/app/blobs/") || strings.Contains(err.Error(), "http://"+host) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestPrivateMirrorWithUnknownCA: the error is about the certificate, and not about http.
func TestPrivateMirrorWithUnknownCA(t *testing.T) {
	n := newNetwork(t)
	c := n.client(t)
	c.roots = x509.NewCertPool()
	c.base = c.transport()
	_, err := c.Manifest(t.Context(), refOf(t, "10.1.2.3:5000/x/y:1"))
	if err == nil || !strings.Contains(err.Error(), "this host does not trust the certificate of 10.1.2.3:5000") {
		t.Fatal(err)
	}
	if strings.Contains(err.Error(), "http://10.") || strings.Contains(err.Error(), "https only") {
		t.Error(err)
	}
}
