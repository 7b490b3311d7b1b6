package fetch

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"airgap.dev/airgap/internal/httpclient"
)

// serve starts a server with TLS, and returns a client that trusts it.
func serve(t *testing.T, h http.Handler) (*httptest.Server, *Client) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(Sources{CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	c.Pause = time.Millisecond
	return s, c
}

// TestLimit: the sum of several downloads keeps the limit, also if a connection breaks and goes on.
func TestLimit(t *testing.T) {
	const perSecond, size, downloads = 1 << 20, 256 << 10, 4
	content := bytes.Repeat([]byte("airgap! "), size/8)
	var broken atomic.Bool
	s, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.CompareAndSwap(false, true) { // the first one ends in the middle
			w.Header().Set("Content-Length", fmt.Sprint(size))
			_, _ = w.Write(content[:size/2])
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(content))
	}))
	if err := c.Limit(perSecond); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var all sync.WaitGroup
	for range downloads {
		all.Go(func() {
			body, _, err := c.Open(t.Context(), s.URL+"/x", 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer body.Close()
			if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	all.Wait()
	// The first tenth of a second is free.
	if took, want := time.Since(begin), time.Second*(downloads*size-perSecond/10)/perSecond; took < want*9/10 {
		t.Errorf("%d bytes took %s, want at least %s", downloads*size, took, want)
	}
	if err := c.Limit(100); err == nil || !strings.Contains(err.Error(), "the smallest limit is") {
		t.Errorf("a tiny limit: %v", err)
	}
}

// TestWatch: each request is seen with its purpose and the redirect that led to it, without signatures.
func TestWatch(t *testing.T) {
	storage := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "content") }))
	t.Cleanup(storage.Close)
	s, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, storage.URL+"/blob?signature=s3cret", http.StatusFound)
	}))
	var seen []string
	c.Watch(func(a Asked) {
		from := ""
		if a.From != nil {
			from = " from " + a.From.String()
		}
		seen = append(seen, fmt.Sprintf("%s: %s%s %d %v", a.Purpose, a.URL, from, a.Status, a.Err))
	})
	if err := c.Probe(httpclient.For(t.Context(), "file x"), s.URL+"/x?token=s3cret"); err != nil {
		t.Fatal(err)
	}
	want := []string{"file x: " + s.URL + "/x 302 <nil>", "file x: " + storage.URL + "/blob from " + s.URL + "/x 200 <nil>"}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", seen, want)
	}
	seen = nil
	s.Close()
	if err := c.Probe(t.Context(), s.URL+"/x?token=s3cret"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a closed server: %v", err)
	}
	if len(seen) != 1 || !strings.Contains(seen[0], "connection refused") {
		t.Errorf("seen %q", seen)
	}
}

// TestLocalFiles: a file:// URL is read on this host, at an offset too. A FIFO is refused, not waited for.
func TestLocalFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a b.rpm"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(Sources{Rewrite: []Rewrite{{From: "*", To: "mirror.example"}}})
	if err != nil {
		t.Fatal(err)
	}
	body, size, err := c.Open(t.Context(), "file://"+dir+"/a b.rpm", 3)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if got, err := io.ReadAll(body); err != nil || string(got) != "tent" || size != 7 {
		t.Errorf("%q of %d bytes, %v", got, size, err)
	}
	for at, want := range map[string]string{"/none": "no such file", "": "no regular file", "/../../../../dev/zero": "no regular file"} {
		if _, _, err := c.Open(t.Context(), "file://"+dir+at, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestPlainRule: a mirror without https is a setting, gets no login, and serves no images.
func TestPlainRule(t *testing.T) {
	c, err := NewClient(Sources{Rewrite: []Rewrite{{From: "*", To: "mirror.example:8081/all", Plain: true}, {From: "quay.io", To: "m.example"}}})
	if err != nil {
		t.Fatal(err)
	}
	for upstream, want := range map[string]bool{"https://dl.example/x": true, "https://quay.io/x": false, "http://quay.io/x": false} {
		if c.Plain(upstream) != want {
			t.Errorf("%s: plain is %v", upstream, !want)
		}
	}
	if at, err := c.mirrored("https://dl.example/x?y"); err != nil || at != "http://mirror.example:8081/all/dl.example/x?y" {
		t.Errorf("%s, %v", at, err)
	}
	if _, err := c.Repository("quay.io/a/b"); err != nil {
		t.Error(err)
	}
	if _, err := c.Repository("ghcr.io/a/b"); err == nil || !strings.Contains(err.Error(), "plainHTTP, and registries are asked by https only") {
		t.Errorf("an image: %v", err)
	}
}
