package bundle_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/ui"
)

// store is the target of a mirror's redirects for blobs and files. It records the
// secrets in the requests.
type store struct {
	*httptest.Server

	mu    sync.Mutex
	asked int
	came  []string
}

func newStore(u *upstream, start func(http.Handler) *httptest.Server) *store {
	s := &store{}
	s.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked++
		for _, name := range []string{"Authorization", "Cookie", "Referer"} {
			if v := r.Header.Get(name); v != "" {
				s.came = append(s.came, name+": "+v)
			}
		}
		s.mu.Unlock()
		u.serve(w, r)
	}))
	return s
}

// TestRedirectedBlobs: a mirror with a login redirects blobs and files to an object
// store, which gets no password.
func TestRedirectedBlobs(t *testing.T) {
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	cdn := newStore(u, httptest.NewTLSServer)
	t.Cleanup(cdn.Close)
	plain := newStore(u, httptest.NewServer)
	t.Cleanup(plain.Close)
	to := cdn.URL
	away := func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, _ := r.BasicAuth(); user != "bank" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="mirror"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		if strings.HasPrefix(r.URL.Path, "/v2/") && !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		http.Redirect(w, r, to+r.URL.Path+"?signature=x", http.StatusTemporaryRedirect)
		return true
	}
	u.spoil.Store(&away)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	secret := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	write := func() error {
		c, err := fetch.NewClient(fetch.Sources{CA: u.ca, Rewrite: []fetch.Rewrite{{From: "*", To: u.host(), Login: rpm.Login{Username: "bank", PasswordFile: secret}}}})
		if err != nil {
			return err
		}
		hasten(c)
		p, err := bundle.NewPlan(background, c, u.request(images...), ui.Discard())
		if err != nil {
			return err
		}
		_, err = bundle.Write(background, p, filepath.Join(t.TempDir(), "stick"), options(t), ui.Discard())
		return err
	}
	must(t, write())
	if cdn.asked == 0 || len(cdn.came) > 0 {
		t.Errorf("the object store got %d requests, with %q", cdn.asked, cdn.came)
	}
	to = plain.URL
	if err := write(); err == nil || !strings.Contains(err.Error(), "leaves https") && !strings.Contains(err.Error(), "by https only") {
		t.Errorf("to http: %v", err)
	}
	if plain.asked > 0 {
		t.Errorf("%d requests came without TLS, with %q", plain.asked, plain.came)
	}
}

// TestRealmOfAnotherSite: a mirror that passes on the login answer of its upstream must
// not cause its password to be sent there.
func TestRealmOfAnotherSite(t *testing.T) {
	images := bundletest.StandardImages(t)[:1]
	u := newUpstream(t, images...)
	for realm, want := range map[string]string{
		"https://auth.docker.io/token": "its token server is auth.docker.io",
		"http://auth.docker.io/token":  "not allowed for a secure registry",
	} {
		bearer := func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm=%q,service="x"`, realm))
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		u.spoil.Store(&bearer)
		t.Setenv("DOCKER_CONFIG", t.TempDir())
		t.Setenv("MIRROR_PASSWORD", "s3cret")
		c, err := fetch.NewClient(
			fetch.Sources{CA: u.ca, Proxy: "http://127.0.0.1:9", Rewrite: []fetch.Rewrite{{From: "*", To: u.host(), Login: rpm.Login{Username: "bank", PasswordEnv: "MIRROR_PASSWORD"}}}},
		)
		must(t, err)
		hasten(c)
		r := u.request(images...)
		r.Files = nil
		_, err = bundle.NewPlan(background, c, r, ui.Discard())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", realm, err)
		}
	}
}
