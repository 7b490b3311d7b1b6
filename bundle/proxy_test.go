package bundle_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/internal/ui"
)

// TestProxy: images and files come only through the site's proxy, which alone can
// resolve the upstream name.
func TestProxy(t *testing.T) {
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	var tunnels atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "example.com:443" {
			http.Error(w, r.Method+" "+r.Host+" is not allowed", http.StatusForbidden)
			return
		}
		tunnels.Add(1)
		to, err := net.Dial("tcp", u.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		from, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(to, buffered); to.Close() }()
		_, _ = io.Copy(from, to)
		from.Close()
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTPS_PROXY", "http://192.0.2.1:9") // the proxy in airgap.yaml has priority
	s := fetch.Sources{CA: u.ca, Proxy: proxy.URL, Rewrite: []fetch.Rewrite{{From: "*", To: "example.com:443"}}}
	c, err := fetch.NewClient(s)
	must(t, err)
	hasten(c)
	p, err := bundle.NewPlan(background, c, u.request(images...), ui.Discard())
	must(t, err)
	_, err = bundle.Write(background, p, filepath.Join(t.TempDir(), "stick"), options(t), ui.Discard())
	must(t, err)
	if tunnels.Load() == 0 {
		t.Error("the proxy got no request")
	}
	s.Proxy = "http://" + u.Listener.Addr().String() // not a proxy
	c, err = fetch.NewClient(s)
	must(t, err)
	hasten(c)
	if _, err := bundle.NewPlan(background, c, u.request(images...), ui.Discard()); err == nil {
		t.Error("continued without the proxy")
	}
}
