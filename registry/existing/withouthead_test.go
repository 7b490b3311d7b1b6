package existing

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/proxytest"
	"airgap.dev/airgap/internal/ui"
)

// TestRegistryWithoutHead: push, preflight and verify work with a registry that answers HEAD with 405.
func TestRegistryWithoutHead(t *testing.T) {
	f := bundletest.New(t)
	b := newSiteRegistry(t, "/airgap")
	b.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
		return r.Method != http.MethodHead
	}
	missing, err := b.Missing(t.Context(), lockOf(t, f))
	if err != nil || len(missing) != len(f.Images) {
		t.Errorf("an empty registry: %v, %v", missing, err)
	}
	pushed, err := b.Push(t.Context(), bundle.NewView(f.Open(t)), nil, ui.Discard())
	must(t, err)
	for _, p := range pushed {
		if has, err := b.Has(t.Context(), strings.SplitN(p.Image, ":", 2)[0], p.Digest); !has || err != nil {
			t.Errorf("Has %s: %t, %v", p.Image, has, err)
		}
	}
	if missing, err := b.Missing(t.Context(), lockOf(t, f)); err != nil || len(missing) > 0 {
		t.Errorf("after the push, %v are missing (%v)", missing, err)
	}
}

// TestPushThroughProxy: a push names the proxy that refuses it, and refuses a setting that is no proxy.
func TestPushThroughProxy(t *testing.T) {
	f := bundletest.New(t)
	v := bundle.NewView(f.Open(t))
	p := proxytest.New()
	p.Set(func(*http.Request) proxytest.Fault { return proxytest.Fault{Login: []string{"NTLM"}} })
	proxy := httptest.NewServer(p)
	defer proxy.Close()
	b := Registry{Address: "harbor.bank.example/airgap"}
	for value, says := range map[string]string{proxy.URL: "accepts only logins with NTLM", "http://kim:s3cret@@:": "read https_proxy: "} {
		t.Setenv("https_proxy", value)
		_, err := b.Push(t.Context(), v, nil, ui.Discard())
		if err == nil || !strings.Contains(err.Error(), says) || advice.Of(err) == "" || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v; %s", err, advice.Of(err))
		}
	}
}
