package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/proxytest"
)

// network is a site with a decrypting proxy, which alone reaches upstream. upstream has one file, and a registry with one
// manifest.
type network struct {
	proxy  *proxytest.Proxy
	url    string // of the proxy
	ca     string // file with the proxy's CA
	ranges []string

	mu      sync.Mutex
	content []byte
}

const manifestText = `{"schemaVersion":2,"config":{},"layers":[]}`

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{proxy: proxytest.New(), content: bytes.Repeat([]byte("0123456789abcdef"), 200_000)}
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(n.serve))
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0)
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	n.proxy.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, upstream.Listener.Addr().String())
	}
	roots := x509.NewCertPool()
	roots.AddCert(upstream.Certificate())
	pem, err := n.proxy.Decrypt(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: "example.com"})
	if err != nil {
		t.Fatal(err)
	}
	n.ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(n.ca, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(n.proxy)
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

func (n *network) serve(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.ranges = append(n.ranges, r.Header.Get("Range")+r.Header.Get("Cache-Control"))
	n.mu.Unlock()
	switch {
	case r.URL.Path == "/v2/":
	case strings.Contains(r.URL.Path, "/manifests/"):
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(manifestText))))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(manifestText))
	default:
		http.ServeContent(w, r, "file.rpm", time.Time{}, bytes.NewReader(n.content))
	}
}

func (n *network) client(t *testing.T) *Client {
	t.Helper()
	c, err := NewClient(Sources{Proxy: n.url, CA: n.ca})
	if err != nil {
		t.Fatal(err)
	}
	c.Patience = Patience{Attempts: 5, Pause: time.Millisecond, Stall: 10 * time.Second, Answer: 1500 * time.Millisecond, Content: 1500 * time.Millisecond, MaxPause: time.Minute}
	return c
}

// faults makes the requests after CONNECT fail in this order; later ones succeed.
func (n *network) faults(all ...proxytest.Fault) *atomic.Int32 {
	asked := &atomic.Int32{}
	n.proxy.Set(func(r *http.Request) proxytest.Fault {
		if r.Method == http.MethodConnect {
			return proxytest.Fault{}
		}
		if i := int(asked.Add(1)); i <= len(all) {
			return all[i-1]
		}
		return proxytest.Fault{}
	})
	return asked
}

func repeated(f proxytest.Fault) []proxytest.Fault {
	return []proxytest.Fault{f, f, f, f, f, f, f, f}
}

// TestFilesSurvive: each fault of a network, once or twice, costs time and nothing else.
func TestFilesSurvive(t *testing.T) {
	n := newNetwork(t)
	c := n.client(t)
	cut := proxytest.Fault{Cut: 1_500_000}
	for name, tc := range map[string]struct {
		faults []proxytest.Fault
		asked  int32
		ranges string // of the last request
	}{
		"no fault":                        {nil, 1, ""},
		"a scanner holds the first byte":  {[]proxytest.Fault{{Hold: time.Minute}, {Hold: time.Minute}}, 3, ""},
		"503":                             {[]proxytest.Fault{{Status: 503, RetryAfter: "0"}}, 2, ""},
		"one 403 of a CDN":                {[]proxytest.Fault{{Status: 403}}, 2, ""},
		"a broken transfer":               {[]proxytest.Fault{cut}, 2, "bytes=1500000-"},
		"broken, without a length":        {[]proxytest.Fault{{Cut: 1_500_000, NoLength: true}}, 2, "bytes=1500000-"},
		"no length":                       {[]proxytest.Fault{{NoLength: true}}, 1, ""},
		"416":                             {[]proxytest.Fault{cut, {Status: 416}}, 3, ""},
		"another range":                   {[]proxytest.Fault{cut, {Range: "bytes 1600000-3199999/3200000"}}, 3, ""},
		"a range of another file":         {[]proxytest.Fault{cut, {Range: "bytes 1500000-3199999/3200001"}}, 3, ""},
		"a range that is none":            {[]proxytest.Fault{cut, {Range: "pages 3"}}, 3, ""},
		"a range without a total":         {[]proxytest.Fault{cut, {Range: "bytes 1500000-3199999/*"}}, 2, "bytes=1500000-"},
		"206 without a range":             {[]proxytest.Fault{cut, {Drop: []string{"Content-Range"}}}, 3, ""},
		"200 instead of 206":              {[]proxytest.Fault{cut, {NoRange: true}}, 2, ""},
		"broken again after a bad range":  {[]proxytest.Fault{cut, {Status: 416}, {Cut: 2_500_000}}, 4, ""},
		"two broken transfers and a hold": {[]proxytest.Fault{cut, {Hold: time.Minute}, {Cut: 1_200_000}}, 4, "bytes=2700000-"},
	} {
		n.ranges = nil
		asked := n.faults(tc.faults...)
		body, err := c.OpenFile(t.Context(), "https://upstream.example/file.rpm", Extent{Size: int64(len(n.content))})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(body)
		body.Close()
		if err != nil || !bytes.Equal(got, n.content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if asked.Load() != tc.asked || n.ranges[len(n.ranges)-1] != tc.ranges {
			t.Errorf("%s: %d requests, the last one for %q", name, asked.Load(), n.ranges[len(n.ranges)-1])
		}
	}
}

const (
	loginOfItself = "; if the server itself sent the page, " + loginSettings
	laterOfItself = "; if the server itself sent the page, run the same command again later"
)

// blockedFile is the error for a page of the proxy in the place of repository metadata.
func blockedFile(n *network, status string) string {
	return fmt.Sprintf(`repomd.xml: a proxy or login page answered through the proxy %s (%s with the web page "Blocked by the bank"), not the file: `+
		"ask the operator of this proxy to allow https://upstream.example/repodata/repomd.xml,", n.url, status)
}

// TestBlockedInside: a page inside TLS, in the place of a registry or its blob, names the proxy and not the registry.
func TestBlockedInside(t *testing.T) {
	n := newNetwork(t)
	ref := refOf(t, "upstream.example/x/y:1")
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusBadGateway, http.StatusServiceUnavailable} {
		want := fmt.Sprintf(`upstream.example: a proxy or login page answered through the proxy %s (%d %s with the web page "Blocked by the bank"), not the registry: `+
			"ask the operator of this proxy to allow https://upstream.example,", n.url, status, http.StatusText(status))
		for _, at := range []string{"/v2/", "/v2/x/y/manifests/1"} {
			n.proxy.Set(func(r *http.Request) proxytest.Fault {
				if r.Method == http.MethodConnect || r.URL.Path != at {
					return proxytest.Fault{}
				}
				return proxytest.Fault{Status: status, Title: "Blocked by the bank"}
			})
			_, err := n.client(t).Manifest(t.Context(), ref)
			if at == "/v2/" && status == http.StatusUnauthorized {
				if err != nil { // a registry that requires no login for the image may answer so
					t.Error(err)
				}
				continue
			}
			if err == nil || !strings.HasPrefix(err.Error(), want) || !IsPage(err) {
				t.Errorf("%s: got %v, want %s", at, err, want)
			}
		}
		n.faults(repeated(proxytest.Fault{Status: status, Title: "Blocked by the bank"})...)
		want = strings.Replace(want, "https://upstream.example,", "https://upstream.example/file.rpm,", 1)
		c := n.client(t)
		_, err := c.OpenFile(t.Context(), "https://upstream.example/file.rpm", All())
		if got := c.Explain(t.Context(), ref, err); !strings.HasPrefix(got.Error(), want) || !IsPage(got) {
			t.Errorf("got %v, want %s", got, want)
		}
		if err := c.Probe(t.Context(), "https://upstream.example/file.rpm"); !IsPage(err) || !strings.Contains(err.Error(), "through the proxy "+n.url) {
			t.Errorf("a probe: %v", err)
		}
	}
}

// TestFilesFail: an error names the URL, the one to blame and the next step, after few requests.
func TestFilesFail(t *testing.T) {
	n := newNetwork(t)
	for name, tc := range map[string]struct {
		fault proxytest.Fault
		asked int32
		says  []string
	}{
		"hold":            {proxytest.Fault{Hold: time.Minute}, 3, []string{"/repodata/repomd.xml through the proxy http://127.0.0.1", "no answer within 1.5s", "sources.timeouts.answer"}},
		"401 with a page": {proxytest.Fault{Status: 401, Title: "Blocked by the bank"}, 1, []string{blockedFile(n, "401 Unauthorized"), loginOfItself}},
		"403 with a page": {proxytest.Fault{Status: 403, Title: "Blocked by the bank"}, 2, []string{blockedFile(n, "403 Forbidden"), loginOfItself}},
		"502 with a page": {proxytest.Fault{Status: 502, Title: "Blocked by the bank"}, 5, []string{blockedFile(n, "502 Bad Gateway"), laterOfItself}},
		"503 with a page": {proxytest.Fault{Status: 503, Title: "Blocked by the bank"}, 5, []string{blockedFile(n, "503 Service Unavailable"), laterOfItself}},
		"403":             {proxytest.Fault{Status: 403}, 2, []string{"repomd.xml: 403 Forbidden; " + loginSettings}},
		"404 with a page": {proxytest.Fault{Status: 404, Title: "Not found"}, 1, []string{`repomd.xml: 404 Not Found with the web page "Not found"`}},
		"a portal":        {proxytest.Fault{Status: 200, Title: "Accept the terms"}, 1, []string{`(text/html; charset=utf-8, with the title "Accept the terms", through the proxy http://`}},
		"a demand":        {proxytest.Fault{Status: 429, RetryAfter: "3600"}, 1, []string{"429 Too Many Requests", "demands a pause of 1h0m0s", "sources.timeouts.retryAfter"}},
		"404":             {proxytest.Fault{Status: 404}, 1, []string{"404 Not Found"}},
		"broken":          {proxytest.Fault{Cut: 10}, 5, []string{"GET https://upstream.example/repodata/repomd.xml: after "}},
		"502 often":       {proxytest.Fault{Status: 502}, 5, []string{"502 Bad Gateway"}},
	} {
		asked := n.faults(repeated(tc.fault)...)
		_, _, err := n.client(t).ReadTyped(t.Context(), "https://upstream.example/repodata/repomd.xml", 1<<30)
		for _, says := range tc.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %q is missing in %v", name, says, err)
			}
		}
		if asked.Load() != tc.asked {
			t.Errorf("%s: %d requests", name, asked.Load())
		}
	}
}

// TestTheProxyIsToBlame: a refused tunnel and an unknown CA name the proxy, at once.
func TestTheProxyIsToBlame(t *testing.T) {
	n := newNetwork(t)
	for name, tc := range map[string]struct {
		fault proxytest.Fault
		ca    string
		says  []string
	}{
		"NTLM":       {proxytest.Fault{Login: []string{"NTLM", "Negotiate"}}, n.ca, []string{"accepts only logins with NTLM or Negotiate", "px or cntlm"}},
		"403":        {proxytest.Fault{Status: 403}, n.ca, []string{"refuses the connection to upstream.example:443", "ask the operator of the proxy"}},
		"unknown CA": {proxytest.Fault{}, "", []string{"does not trust the certificate of upstream.example", `issued by "CN=Bank inspection"`, "sources.ca"}},
	} {
		n.proxy.Set(func(*http.Request) proxytest.Fault { return tc.fault })
		before := len(n.proxy.Asked())
		c, err := NewClient(Sources{Proxy: n.url, CA: tc.ca})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Open(t.Context(), "https://upstream.example/key.asc", 0)
		_, other := c.Manifest(t.Context(), refOf(t, "upstream.example/x/y:1"))
		for _, says := range tc.says {
			if err == nil || !strings.Contains(err.Error()+advice.Of(err), says) {
				t.Errorf("%s: %q is missing in %v", name, says, err)
			}
			if other == nil || !strings.Contains(other.Error()+advice.Of(other), says) {
				t.Errorf("%s: %q is missing in %v", name, says, other)
			}
		}
		if asked := len(n.proxy.Asked()) - before; asked != 2 {
			t.Errorf("%s: %d requests for two files", name, asked)
		}
	}
}

func refOf(t *testing.T, text string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// TestManifestsSurvive: types with parameters, generic types, HEAD without a digest or with 405, slow answers.
func TestManifestsSurvive(t *testing.T) {
	n := newNetwork(t)
	ref := refOf(t, "upstream.example/x/y:1")
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(manifestText)))
	for name, fault := range map[string]func(r *http.Request) proxytest.Fault{
		"a type with a parameter": func(*http.Request) proxytest.Fault {
			return proxytest.Fault{Type: "application/vnd.oci.image.manifest.v1+json; charset=utf-8"}
		},
		"a generic type": func(*http.Request) proxytest.Fault { return proxytest.Fault{Type: "application/octet-stream"} },
		"text":           func(*http.Request) proxytest.Fault { return proxytest.Fault{Type: "text/plain; charset=utf-8"} },
		"no digest":      func(*http.Request) proxytest.Fault { return proxytest.Fault{Drop: []string{"Docker-Content-Digest"}} },
		"no length": func(r *http.Request) proxytest.Fault {
			return proxytest.Fault{NoLength: r.Method != http.MethodConnect}
		},
		"405 for HEAD": func(r *http.Request) proxytest.Fault {
			if r.Method == http.MethodHead {
				return proxytest.Fault{Status: http.StatusMethodNotAllowed}
			}
			return proxytest.Fault{}
		},
		"403 for HEAD": func(r *http.Request) proxytest.Fault {
			if r.Method == http.MethodHead {
				return proxytest.Fault{Status: http.StatusForbidden}
			}
			return proxytest.Fault{}
		},
	} {
		n.proxy.Set(fault)
		c := n.client(t)
		if raw, err := c.Manifest(t.Context(), ref); err != nil || string(raw) != manifestText {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
		if now, err := c.Head(t.Context(), ref); err != nil || now != digest {
			t.Errorf("%s: HEAD: %s, %v", name, now, err)
		}
	}
	n.faults(proxytest.Fault{Hold: time.Minute}, proxytest.Fault{}, proxytest.Fault{Hold: time.Minute}, proxytest.Fault{}, proxytest.Fault{Hold: time.Minute})
	c := n.client(t)
	if _, err := c.Manifest(t.Context(), ref); err != nil {
		t.Errorf("slow answers to the login and to the manifest: %v", err)
	}
	if now, err := c.Head(t.Context(), ref); err != nil || now != digest {
		t.Errorf("a slow answer to HEAD: %s, %v", now, err)
	}
	asked := n.faults(proxytest.Fault{}, proxytest.Fault{Flip: true})
	if _, err := n.client(t).Manifest(t.Context(), refOf(t, "upstream.example/x/y@"+digest)); err != nil || asked.Load() != 3 || n.ranges[len(n.ranges)-1] != "no-cache" {
		t.Errorf("a manifest that is wrong once: %v after %d requests, %v", err, asked.Load(), n.ranges)
	}
}

// TestSizeWithoutLength: a server, or a proxy, that hides the length of a driver.
func TestSizeWithoutLength(t *testing.T) {
	n := newNetwork(t)
	n.faults(proxytest.Fault{NoLength: true})
	if size, err := n.client(t).Size(t.Context(), "https://upstream.example/driver.run"); err != nil || size != int64(len(n.content)) {
		t.Errorf("%d, %v", size, err)
	}
}

// TestHeedsRetryAfter: never too early, and not all workers at once.
func TestHeedsRetryAfter(t *testing.T) {
	n := newNetwork(t)
	n.faults(proxytest.Fault{Status: 503, RetryAfter: "1"})
	began := time.Now()
	if _, err := n.client(t).Size(t.Context(), "https://upstream.example/driver.run"); err != nil || time.Since(began) < time.Second {
		t.Errorf("waited for %s: %v", time.Since(began), err)
	}
	for range 100 {
		if d := jitter(time.Second); d < time.Second || d > 1250*time.Millisecond {
			t.Fatal(d)
		}
	}
}
