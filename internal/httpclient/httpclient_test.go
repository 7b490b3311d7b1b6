package httpclient_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/httpclient"
)

// web is a server with TLS, another one, and one without.
type web struct {
	home, away, plain *httptest.Server
	seen              map[string][]*http.Request // by server
}

func newWeb(t *testing.T) *web {
	w := &web{seen: map[string][]*http.Request{}}
	serve := func(name string) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.seen[name] = append(w.seen[name], r.Clone(t.Context()))
			if to := r.URL.Query().Get("to"); to != "" {
				status := http.StatusTemporaryRedirect
				http.Redirect(rw, r, to, status)
				return
			}
			_, _ = io.WriteString(rw, "here")
		})
	}
	w.home, w.away = httptest.NewTLSServer(serve("home")), httptest.NewTLSServer(serve("away"))
	w.plain = httptest.NewServer(serve("plain"))
	for _, s := range []*httptest.Server{w.home, w.away, w.plain} {
		t.Cleanup(s.Close)
	}
	return w
}

func (w *web) transport() *http.Transport {
	roots := x509.NewCertPool()
	roots.AddCert(w.home.Certificate())
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
}

func secrets() map[string]string {
	return map[string]string{
		"Authorization": "Basic bWU6czNjcmV0", "Cookie": "session=s3cret", "Proxy-Authorization": "Basic bWU6czNjcmV0",
		"Private-Token": "s3cret", "X-Jfrog-Art-Api": "s3cret", "Referer": "https://home/?signature=s3cret",
	}
}

func (w *web) get(t *testing.T, c *http.Client, url string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range secrets() {
		r.Header.Set(name, value)
	}
	r.Header.Set("Range", "bytes=1-")
	response, err := c.Do(r)
	if err == nil {
		response.Body.Close()
	}
	return err
}

// TestNothingSecretLeaves: another port is another origin, also of one host, where Go's own
// client passes everything on.
func TestNothingSecretLeaves(t *testing.T) {
	w := newWeb(t)
	for name, to := range map[string]string{
		"to another port":             w.home.URL + "/?to=" + w.away.URL + "/blob?sig=x",
		"within home and then away":   w.home.URL + "/?to=" + "/next?to=" + w.away.URL + "/blob",
		"away, and then further away": w.home.URL + "/?to=" + w.away.URL + "/next?to=/blob",
	} {
		w.seen = map[string][]*http.Request{}
		if err := w.get(t, httpclient.New(w.transport()), to); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(w.seen["away"]) == 0 || w.seen["home"][0].Header.Get("Authorization") == "" {
			t.Errorf("%s: came to %v", name, w.seen)
		}
		for _, r := range w.seen["away"] {
			for header := range secrets() {
				if got := r.Header.Get(header); got != "" {
					t.Errorf("%s: %s came along: %s", name, header, got)
				}
			}
			if r.Header.Get("Range") == "" {
				t.Errorf("%s: a download that goes on starts again", name)
			}
		}
	}
}

func TestRefusedRedirects(t *testing.T) {
	w := newWeb(t)
	loop := w.home.URL + "/"
	for range 12 {
		loop = w.home.URL + "/?to=" + strings.NewReplacer("%", "%25", "&", "%26", "?", "%3F").Replace(loop)
	}
	withUser := strings.Replace(w.away.URL, "https://", "https://me:pw@", 1)
	for name, c := range map[string]struct {
		client *http.Client
		url    string
		reason string
	}{
		"plain HTTP": {httpclient.New(w.transport()), w.home.URL + "/?to=" + w.plain.URL, "it leaves https"},
		"a client that checks nothing": {
			&http.Client{Transport: httpclient.Guard(w.transport()), CheckRedirect: func(*http.Request, []*http.Request) error { return nil }},
			loop,
			"more than 10 redirects",
		},
		"a certificate for one server":   {httpclient.New(httpclient.Stay(w.transport())), w.home.URL + "/?to=" + w.away.URL, "for the first one only"},
		"a name and password in the URL": {httpclient.New(w.transport()), w.home.URL + "/?to=" + withUser, "user name"},
	} {
		w.seen = map[string][]*http.Request{}
		err := w.get(t, c.client, c.url)
		if _, is := errors.AsType[*httpclient.RefusedError](err); !is || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", name, err)
		}
		if len(w.seen["plain"])+len(w.seen["away"]) > 0 {
			t.Errorf("%s: was asked all the same", name)
		}
	}
}

// TestBodiesStay: a form with a password is sent once.
func TestBodiesStay(t *testing.T) {
	w := newWeb(t)
	response, err := httpclient.New(w.transport()).Post(w.home.URL+"/?to="+w.away.URL, "application/x-www-form-urlencoded", strings.NewReader("password=s3cret"))
	if err == nil {
		response.Body.Close()
	}
	if _, is := errors.AsType[*httpclient.RefusedError](err); !is || len(w.seen["away"]) > 0 {
		t.Errorf("%v; away saw %v", err, w.seen["away"])
	}
}

// TestOrigin: two spellings of an origin are equal, and a possible other server is different.
func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://h.example/a", "https://h.example:443/b", true},
		{"http://h.example/", "http://h.example:80/", true},
		{"https://H.Example/", "HTTPS://h.example/", true},
		{"https://[::1]:8443/", "https://[::1]:8443/x", true},
		{"https://[fd00::1]/", "https://[FD00::1]:443/", true},
		{"https://me:pw@h.example/", "https://h.example/", true},
		{"https://h.example/", "https://h.example./", false},
		{"https://h.example/", "https://h.example:80/", false},
		{"https://h.example/", "https://sub.h.example/", false},
		{"https://[::1]/", "https://[::2]/", false},
		{"https://h.example@evil.example/", "https://h.example/", false},
		{"https://h.example:443@evil.example/", "https://h.example/", false},
	} {
		a, errA := url.Parse(c.a)
		b, errB := url.Parse(c.b)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		if (httpclient.Origin(a) == httpclient.Origin(b)) != c.same {
			t.Errorf("%s and %s: %s, %s", c.a, c.b, httpclient.Origin(a), httpclient.Origin(b))
		}
	}
}
