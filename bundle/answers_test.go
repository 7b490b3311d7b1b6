package bundle_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
)

// answer answers requests for manifests, and for tags if tags is set.
func answer(status int, contentType, body, tags string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/":
		case strings.HasSuffix(r.URL.Path, "/tags/list") && tags != "":
			fmt.Fprint(w, tags)
		case strings.HasSuffix(r.URL.Path, "/tags/list"):
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	})
}

const loginPage = "<!DOCTYPE html>\n<html><head><title>\n Sign in to\n continue </title></head><body>…</body></html>"

// TestAnswersAreExplained: an error has the registry's message, the meaning and the
// next step.
func TestAnswersAreExplained(t *testing.T) {
	denied := `{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}`
	for _, tc := range []struct {
		name  string
		h     http.Handler
		login bool
		says  []string
	}{
		{"a private image", answer(403, "application/json", denied, ""), false,
			[]string{"requires a login, or the image does not exist", "podman login ", "sources.rewrite", "403 Forbidden, DENIED: requested access to the resource is denied"}},
		{"no login at all", answer(401, "application/json", `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, ""), false,
			[]string{"requires a login", "podman login "}},
		{"an expired login, or one without permission", answer(403, "application/json", denied, ""), true,
			[]string{"config.json: the login has expired", "log in again with podman login "}},
		{"too many pulls", answer(429, "application/json", `{"errors":[{"code":"TOOMANYREQUESTS","message":"You have reached your pull rate limit."}]}`, ""), false,
			[]string{"limits the pulls of this host", "TOOMANYREQUESTS: You have reached your pull rate limit.", "wait", "podman login "}},
		{"no such repository", answer(404, "application/json", `{"errors":[{"code":"NAME_UNKNOWN","message":"repository name not known"}]}`, ""), false,
			[]string{"does not exist in ", "the registry has no repository quay.io/x/shape", "NAME_UNKNOWN"}},
		{"no such tag", answer(404, "application/json", `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`, `{"tags":["v0","0.9","1.0","1.1","latest"]}`), false,
			[]string{"does not exist in ", "the repository exists, but has no tag 1; similar tags: 1.0 and 1.1", "MANIFEST_UNKNOWN"}},
		{"a login page instead of a manifest", answer(200, "text/html; charset=utf-8", loginPage, ""), false,
			[]string{`a proxy or login page answered, with the web page "Sign in to continue" instead of a manifest`, "open that address in a browser", "sources.proxy"}},
		{"a page that says it is JSON", answer(200, "application/json", loginPage, ""), false, []string{`the web page "Sign in to continue"`}},
		{"a proxy's page with 403", answer(403, "text/html", "<html><title>Blocked by policy</title>"+strings.Repeat("<p>because</p>", 5000), ""), false,
			[]string{`: a proxy or login page answered (403 Forbidden with the web page "Blocked by policy"), not the registry: ask the operator of `, "to allow https://127.0.0.1:",
				"if the server itself sent the page, log in with podman login 127.0.0.1:"}},
		{"a proxy's page with 401", answer(401, "text/html", loginPage, ""), false,
			[]string{`a proxy or login page answered (401 Unauthorized with the web page "Sign in to continue"), not the registry: ask the operator of `}},
		{"a proxy's page with 502", answer(502, "text/html", "<html>"+strings.Repeat("x", 50_000), ""), false,
			[]string{"a proxy or login page answered (502 Bad Gateway with a web page), not the registry", "if the server itself sent the page, run the same command again later"}},
		{"a proxy's page with 503", answer(503, "text/html", loginPage, ""), false, []string{`(503 Service Unavailable with the web page "Sign in to continue"), not the registry`}},
		{"a server error", answer(502, "application/json", `{"errors":[{"code":"UNAVAILABLE","message":"try later"}]}`, ""), false,
			[]string{"has a server error (response: 502 Bad Gateway, UNAVAILABLE: try later)"}},
		{"a proxy that requires a login", answer(407, "text/plain", "who are you?", ""), false, []string{"HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT", "407 Proxy Authentication Required"}},
		{"status 418", answer(418, "text/plain", "short\nand stout", ""), false, []string{"refuses the request (response: 418 I'm a teapot: short and stout)"}},
		{"a token server that is a page", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/v2/") {
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="https://%s/token",service="x"`, r.Host))
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, loginPage)
		}), false, []string{"the token server of ", "a proxy or a login page", "open that address in a browser"}},
		{"a redirect that leaves https", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v2/" {
				http.Redirect(w, r, "http://"+r.Host+"/elsewhere", http.StatusTemporaryRedirect)
			}
		}), false, []string{"it leaves https"}},
		{"other bytes than the digest's", answer(200, ocispec.MediaTypeImageManifest, `{"schemaVersion":2}`, ""), false, []string{"only sha256 is supported"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := t.TempDir()
			t.Setenv("DOCKER_CONFIG", config)
			t.Setenv("REGISTRY_AUTH_FILE", filepath.Join(config, "none"))
			server := httptest.NewTLSServer(tc.h)
			defer server.Close()
			u := &upstream{Server: server}
			u.trust(t)
			if tc.login {
				auth := base64.StdEncoding.EncodeToString([]byte("me:secret"))
				must(t, os.WriteFile(filepath.Join(config, "config.json"), fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, u.host(), auth), 0o600))
			}
			_, err := bundle.NewPlan(
				t.Context(),
				u.client(t),
				bundle.Request{Name: "test", Platform: "linux/amd64", Images: []bundle.Need{{Reference: "quay.io/x/shape:1", NeededBy: "add-on shop"}}},
				ui.Discard(),
			)
			if err == nil {
				t.Fatal("no error")
			}
			for _, says := range append(tc.says, "image quay.io/x/shape:1 (needed by add-on shop): ") {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q is missing in:\n%v", says, err)
				}
			}
			if len(err.Error()) > 1500 || strings.Count(err.Error(), "\n") > 1 || strings.Contains(err.Error(), "secret") {
				t.Errorf("%d bytes: %.3000s", len(err.Error()), err)
			}
		})
	}
}

// TestAnswersWhileFetching: the same explanations for a layer that is refused or is a page.
func TestAnswersWhileFetching(t *testing.T) {
	s := &shelf{blobs: map[digest.Digest][]byte{}}
	s.top = s.image("linux/amd64")
	l := s.layerOf(t, s.top)
	spoil := func(http.ResponseWriter) bool { return false }
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, l.String()) || !spoil(w) {
			s.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	u := &upstream{Server: server}
	u.trust(t)
	p, err := bundle.NewPlan(t.Context(), u.client(t), bundle.Request{Name: "test", Platform: "linux/amd64", Images: []bundle.Need{{Reference: "quay.io/x/shape:1", NeededBy: "images"}}}, ui.Discard())
	must(t, err)
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter)
		says   []string
	}{
		"denied":    {func(w http.ResponseWriter) { w.WriteHeader(403) }, []string{"requires a login", "podman login"}},
		"too often": {func(w http.ResponseWriter) { w.WriteHeader(429) }, []string{"limits the pulls of this host"}},
		"a page":    {func(w http.ResponseWriter) { fmt.Fprint(w, loginPage) }, []string{"a proxy or login page answered (text/html"}},
		"blocked": {func(w http.ResponseWriter) { w.WriteHeader(403); fmt.Fprint(w, loginPage) },
			[]string{`a proxy or login page answered (403 Forbidden with the web page "Sign in to continue"), not the registry`}},
		"shorter": {func(w http.ResponseWriter) { fmt.Fprint(w, "lay") }, []string{"ends after 3 of 7 bytes"}},
		"longer":  {func(w http.ResponseWriter) { fmt.Fprint(w, "layer 1 and more") }, []string{"is longer than the expected 7 bytes", "the server reports 16 bytes"}},
	} {
		spoil = func(w http.ResponseWriter) bool { tc.answer(w); return true }
		_, err := bundle.Write(t.Context(), p, t.TempDir(), options(t), ui.Discard())
		for _, says := range append(tc.says, l.String()+" of image quay.io/x/shape:1") {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %q is missing in %v", name, says, err)
			}
		}
	}
}
