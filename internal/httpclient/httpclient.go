// Package httpclient holds the one redirect policy of the program.
//
// Every HTTP client is made by New, and every transport that goes into a library which
// makes clients itself is wrapped by Guard, Stay or Registry. The policy is in the
// transport, not in CheckRedirect: go-containerregistry and client-go bring clients that
// have their own, and add credentials below it.
//
// A redirect never leads from https to http. Credentials go only to the scheme, host and
// port that they were given for.
package httpclient

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// maxHops bounds the redirects of one request.
const maxHops = 10

// RefusedError says why a request was not sent. Trying again gives the same.
type RefusedError struct {
	From, To string // scheme, host and port
	Reason   string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("follow redirect from %s to %s: %s", e.From, e.To, e.Reason)
}

// New is a client with the policy.
func New(t http.RoundTripper) *http.Client { return &http.Client{Transport: Guard(t)} }

// Guard applies the policy to the requests that t sends.
func Guard(t http.RoundTripper) http.RoundTripper { return guard{t, false} }

// Stay is Guard for a client that identifies itself in the connection, for example with a client
// certificate: it follows no redirect to another origin.
func Stay(t http.RoundTripper) http.RoundTripper { return guard{t, true} }

type guard struct {
	next http.RoundTripper
	stay bool
}

// WrappedRoundTripper lets client-go find the connections to close.
func (g guard) WrappedRoundTripper() http.RoundTripper { return g.next }

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	earlier := chain(r)
	if err := g.refuse(r, earlier); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return g.next.RoundTrip(strip(r, earlier))
}

// chain returns the requests with redirects that led to r, the last one first.
func chain(r *http.Request) []*http.Request {
	var all []*http.Request
	for r.Response != nil && r.Response.Request != nil && len(all) <= maxHops {
		r = r.Response.Request
		all = append(all, r)
	}
	return all
}

func (g guard) refuse(r *http.Request, earlier []*http.Request) error {
	if len(earlier) == 0 {
		return nil
	}
	from, to := Origin(earlier[0].URL), Origin(r.URL)
	var reason string
	switch {
	case earlier[0].URL.Scheme == "https" && r.URL.Scheme != "https":
		reason = "it leaves https, so the data could be read and changed on the network; use an address that stays with https"
	case len(earlier) > maxHops:
		reason = fmt.Sprintf("these are more than %d redirects", maxHops)
	case from == to:
		return nil
	case g.stay:
		reason = "the certificate or token of this connection is for the first one only"
	case r.Body != nil && r.Body != http.NoBody:
		reason = "the request body is for the first one only"
	case r.URL.User != nil:
		reason = "its address has a user name in it"
	default:
		return nil
	}
	return &RefusedError{from, to, reason}
}

// plainHeaders returns the headers that may go to another origin. All others
// may contain a secret: Private-Token, X-JFrog-Art-Api, a Referer with a signed query.
func plainHeaders() []string {
	return []string{"Accept", "Accept-Encoding", "Accept-Language", "User-Agent", "Range", "If-Range", "If-None-Match", "If-Modified-Since"}
}

// strip removes the headers for an origin that the chain has left.
func strip(r *http.Request, earlier []*http.Request) *http.Request {
	left := false
	own := r.Header.Get("Authorization")
	for _, e := range earlier {
		if Origin(e.URL) == Origin(r.URL) {
			continue
		}
		left = true
		if e.Header.Get("Authorization") == own {
			own = ""
		}
	}
	if !left {
		return r
	}
	stripped := r.Clone(r.Context())
	stripped.Header = http.Header{} //nolint:gosec // only harmless ones follow
	for _, name := range plainHeaders() {
		if values := r.Header.Values(name); len(values) > 0 {
			stripped.Header[name] = values
		}
	}
	if own != "" { // go-containerregistry got a token of the other origin
		stripped.Header.Set("Authorization", own) //nolint:gosec // own belongs to this origin, as said
	}
	return stripped
}

// Origin is scheme, host and port.
func Origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
