package httpclient

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Registry is Guard for the registry at host (HOST or HOST:PORT). It refuses plain
// HTTP: go-containerregistry falls back to it if a registry has a private address or a
// name in .local. A password goes only to the registry and to a token server of the same
// site, such as auth.docker.io for index.docker.io: a registry names its token server
// in a response, and a mirror may forward the response of another registry.
func Registry(t http.RoundTripper, host string) http.RoundTripper {
	return registry{Guard(t), hostname(host)}
}

type registry struct {
	next http.RoundTripper
	host string
}

// WrappedRoundTripper returns the next transport, as guard's does.
func (t registry) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t registry) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.refuse(r); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return t.next.RoundTrip(r)
}

func (t registry) refuse(r *http.Request) error {
	to := r.URL.Hostname()
	if r.URL.Scheme != "https" {
		return &schemeError{r.URL.Host}
	}
	if r.Response != nil || sameSite(t.host, to) {
		return nil // Guard judges redirects
	}
	// OAuth sends the password or the refresh token in a form.
	form := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	if form || strings.HasPrefix(strings.ToLower(r.Header.Get("Authorization")), "basic ") {
		return &RealmError{Registry: t.host, Realm: to}
	}
	return nil
}

// RealmError reports a registry that asks for users' passwords at another site.
type RealmError struct{ Registry, Realm string }

func (e *RealmError) Error() string {
	return fmt.Sprintf("log in at %s: its token server is %s (WWW-Authenticate), which belongs to another site, so airgap sends no password: ask the administrators of %[1]s, or remove its login",
		e.Registry, e.Realm)
}

type schemeError struct{ host string }

func (e *schemeError) Error() string { return e.host + ": registries are asked by https only" }

// sameSite reports whether one owner registered both names.
func sameSite(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if a == b {
		return true
	}
	if net.ParseIP(a) != nil || net.ParseIP(b) != nil {
		return false
	}
	of, err := publicsuffix.EffectiveTLDPlusOne(a)
	if err != nil {
		return false
	}
	other, err := publicsuffix.EffectiveTLDPlusOne(b)
	return err == nil && of == other
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// OverHTTPS drops the second error for a registry with a private address: the library tries http after https, and
// airgap refuses that.
func OverHTTPS(err error) error {
	if failed, is := errors.AsType[*url.Error](err); is && strings.HasPrefix(failed.URL, "https:") && !strings.Contains(failed.Error(), err.Error()) {
		return failed
	}
	return err
}
