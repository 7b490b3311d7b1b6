package bundle_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/ui"
)

// TestNoPlainHTTP: at private addresses, go-containerregistry would continue without
// TLS and send the credentials if TLS fails.
func TestNoPlainHTTP(t *testing.T) {
	var asked atomic.Int32
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(plain.Close)
	u := newUpstream(t)
	redirect := func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, plain.URL+r.URL.Path, http.StatusFound)
		return true
	}
	u.spoil.Store(&redirect)
	for what, sources := range map[string]fetch.Sources{
		"a plain registry":       {CA: u.ca, Rewrite: []fetch.Rewrite{{From: "*", To: strings.TrimPrefix(plain.URL, "http://")}}},
		"a redirect to http URL": u.sources(),
	} {
		c, err := fetch.NewClient(sources)
		must(t, err)
		hasten(c)
		r := bundle.Request{Name: "test", Tool: "test", Platform: "linux/amd64", Images: []bundle.Need{{Reference: "quay.io/x/a:1", NeededBy: "images.list"}}}
		_, err = bundle.NewPlan(background, c, r, ui.Discard())
		if err == nil || !strings.Contains(err.Error(), "registries are asked by https only") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests came without TLS", n)
	}
}
