package fetch

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/porttest"
)

func TestPresentable(t *testing.T) {
	for raw, want := range map[string]string{
		"https://dl.example/a/b":                      "https://dl.example/a/b",
		"https://me:pass@dl.example:8443/a?x=y#z":     "https://dl.example:8443/a",
		"https://cdn.example?X-Amz-Signature=deadbea": "https://cdn.example",
		"https://me:p@ss@dl.example":                  "https://dl.example",
		"dl.example/a?b":                              "dl.example/a",
		"https://dl.example/a@b":                      "https://dl.example/a@b",
	} {
		if got := Presentable(raw); got != want {
			t.Errorf("Presentable(%q) = %q, want %q", raw, got, want)
		}
	}
}

// FuzzPresentable builds URLs with a secret in each place that can have one.
func FuzzPresentable(f *testing.F) {
	f.Add("https", "me", "dl.example", "/a/b", "sig")
	f.Add("http", "a@b", "[::1]:80", "", "x?y")
	f.Fuzz(func(t *testing.T, scheme, user, host, path, key string) {
		const secret = "hunter2hunter2"
		u := url.URL{Scheme: scheme, User: url.UserPassword(user, secret), Host: host, Path: path, RawQuery: url.Values{key: {secret}}.Encode(), Fragment: secret}
		if _, err := url.Parse(u.String()); err != nil || scheme == "" || strings.Contains(scheme+user+host+path+key, "hunter2") {
			t.Skip() // not a URL for a request
		}
		if got := Presentable(u.String()); strings.Contains(got, secret) {
			t.Errorf("Presentable(%q) = %q", u.String(), got)
		}
	})
}

// TestErrorsHideSignedAddresses: a registry redirects to a storage that does not
// answer, or that refuses. The error must not contain the signed address.
func TestErrorsHideSignedAddresses(t *testing.T) {
	const signature = "X-Amz-Signature=0123456789abcdef"
	gone := "http://127.0.0.1:" + porttest.Reserve(t)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refuses.Close()
	for name, storage := range map[string]string{"gone": gone, "refuses": refuses.URL} {
		t.Run(name, func(t *testing.T) {
			registry := httptest.NewServer(http.RedirectHandler(storage+"/blob?"+signature, http.StatusTemporaryRedirect))
			defer registry.Close()
			c, err := NewClient(Sources{})
			if err != nil {
				t.Fatal(err)
			}
			c.Attempts, c.Pause = 1, time.Millisecond
			_, _, err = c.Open(t.Context(), registry.URL+"/v2/blob?token=0123456789abcdef", 0)
			if err == nil || !strings.Contains(err.Error(), "/blob") || strings.Contains(err.Error(), "0123456789abcdef") {
				t.Errorf("got %v", err)
			}
		})
	}
}
