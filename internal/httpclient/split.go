package httpclient

import "net/http"

// Split sends requests to the origin that a client addresses through home, which identifies itself in the
// connection, for example with a client certificate. Requests after a redirect to another origin go
// through away, without that identity, also back at the first origin.
func Split(home, away http.RoundTripper) http.RoundTripper { return split{Guard(home), Guard(away)} }

type split struct{ home, away http.RoundTripper }

// WrappedRoundTripper returns the next transport, as guard's does.
func (s split) WrappedRoundTripper() http.RoundTripper { return s.home }

func (s split) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, earlier := range chain(r) {
		if Origin(earlier.URL) != Origin(r.URL) {
			return s.away.RoundTrip(r)
		}
	}
	return s.home.RoundTrip(r)
}
