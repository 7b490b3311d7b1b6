package fetch

import (
	"context"
	"net"
	"net/http"
	"net/url"
)

// Asked is a request that a client has sent, or could not send.
type Asked struct {
	URL     *url.URL // scheme, host and path
	Purpose string   // of httpclient.For
	From    *url.URL // the address whose redirect led here; nil without a redirect
	Proxy   *url.URL // nil: a direct connection
	Status  int      // 0 without a response
	Err     error    // nil with a response
}

// Watch reports each request to see, which must be safe for concurrent use. It must be called before
// the first request.
func (c *Client) Watch(see func(Asked)) { c.see = see }

// watched adds Watch and Limit to the connections of t.
func (c *Client) watched(t *http.Transport) http.RoundTripper {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if tcp, is := conn.(*net.TCPConn); is && err == nil && c.limit != nil {
			_ = tcp.SetReadBuffer(limitedBuffer) // otherwise the kernel takes megabytes at full speed
		}
		return conn, err
	}
	return watched{c, t}
}

type watched struct {
	client *Client
	next   *http.Transport
}

// WrappedRoundTripper returns the next transport, to close its connections.
func (w watched) WrappedRoundTripper() http.RoundTripper { return w.next }

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(r)
	if w.client.see != nil {
		w.client.see(w.asked(r, response, err))
	}
	if err == nil && w.client.limit != nil {
		response.Body = &limitedBody{response.Body, r.Context(), w.client.limit}
	}
	return response, err
}

func (w watched) asked(r *http.Request, response *http.Response, err error) Asked {
	a := Asked{URL: bare(r.URL), Purpose: purposeOf(r), Err: presentableError(err)}
	if response != nil {
		a.Status = response.StatusCode
	}
	if r.Response != nil && r.Response.Request != nil {
		a.From = bare(r.Response.Request.URL)
	}
	if w.next.Proxy != nil {
		if proxy, err := w.next.Proxy(r); err == nil && proxy != nil {
			a.Proxy = bare(proxy)
		}
	}
	return a
}

// bare leaves out users, passwords and queries, which can have signatures.
func bare(u *url.URL) *url.URL { return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path} }
