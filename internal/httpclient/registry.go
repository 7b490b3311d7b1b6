package httpclient

import (
	"fmt"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Registry is Guard for the registry at host (HOST or HOST:PORT). It keeps plain HTTP
// away: go-containerregistry falls back to it where a registry has a private address or a
// name in .local. And a password goes only to the registry and to a token server of its
// own site, as auth.docker.io is for index.docker.io: a registry names its token server
// in an answer, and a mirror may pass on the answer of another.
func Registry(t http.RoundTripper, host string) http.RoundTripper {
	return registry{Guard(t), hostname(host)}
}

type registry struct {
	next http.RoundTripper
	host string
}

// WrappedRoundTripper is as guard's.
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

// RealmError says that a registry wants its users' passwords sent to another site.
type RealmError struct{ Registry, Realm string }

func (e *RealmError) Error() string {
	return fmt.Sprintf("log in at %s: its token server is %s (WWW-Authenticate), which is another site and gets no password: ask those who run %[1]s, or remove its login",
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
