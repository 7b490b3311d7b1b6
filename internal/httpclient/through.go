package httpclient

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Through sends the requests of t through proxies, with the policy of Guard. An answer of a proxy that is not
// upstream's, and a connection that a proxy did not make, is a *ProxyError.
func Through(t *http.Transport, p *Proxies) http.RoundTripper {
	return ThroughWith(t, p, func(t *http.Transport) http.RoundTripper { return t })
}

// ThroughWith is Through for a transport that wrap adds something to.
func ThroughWith(t *http.Transport, p *Proxies, wrap func(*http.Transport) http.RoundTripper) http.RoundTripper {
	t.Proxy = p.of
	t.OnProxyConnectResponse = p.connected
	return Guard(through{wrap(t), p})
}

type through struct {
	next    http.RoundTripper
	proxies *Proxies
}

// WrappedRoundTripper returns the next transport, as guard's does.
func (t through) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t through) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := t.proxies.of(r)
	if err != nil || proxy == nil {
		response, err := t.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		return t.judge(response, nil, r)
	}
	var reached atomic.Bool // the proxy made the connection
	trace := &httptrace.ClientTrace{
		GotConn:           func(httptrace.GotConnInfo) { reached.Store(true) },
		TLSHandshakeStart: func() { reached.Store(proxy.Scheme != "https") },
	}
	response, err := t.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err == nil {
		return t.judge(response, proxy, r)
	}
	if known := (*ProxyError)(nil); errors.As(err, &known) || r.Context().Err() != nil {
		return nil, err
	}
	if !reached.Load() || isProxyConnect(err) {
		err = &ProxyError{Proxy: shown(proxy), Setting: t.proxies.setting(proxy), Target: r.URL.Host, Err: err}
	}
	return nil, err
}

// isProxyConnect reports whether the connection to the proxy failed, or its connection to the target.
func isProxyConnect(err error) bool {
	e, is := errors.AsType[*net.OpError](err)
	return is && (e.Op == "proxyconnect" || e.Net == "socks" || strings.HasPrefix(e.Op, "socks"))
}

// judge turns an answer that only a proxy sends into an error. With plain HTTP a proxy answers in the place of
// upstream.
func (t through) judge(response *http.Response, proxy *url.URL, r *http.Request) (*http.Response, error) {
	plain := proxy != nil && r.URL.Scheme == "http" && response.StatusCode >= http.StatusBadRequest && response.Header.Get("X-Squid-Error") != ""
	if response.StatusCode != http.StatusProxyAuthRequired && !plain {
		return response, nil
	}
	defer response.Body.Close()
	return nil, t.proxies.errorOf(proxy, r.URL.Host, response)
}

// connected reads a proxy's answer to CONNECT.
func (p *Proxies) connected(_ context.Context, proxy *url.URL, request *http.Request, response *http.Response) error {
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return p.errorOf(proxy, request.Host, response)
}

func (p *Proxies) errorOf(proxy *url.URL, target string, response *http.Response) *ProxyError {
	e := &ProxyError{Setting: p.setting(proxy), Target: target, Status: response.StatusCode, Page: TitleOf(start(response))}
	if proxy != nil {
		e.Proxy, e.LoggedIn = shown(proxy), proxy.User != nil
	}
	for _, header := range response.Header.Values("Proxy-Authenticate") {
		scheme, _, _ := strings.Cut(strings.TrimSpace(header), " ")
		e.Schemes = append(e.Schemes, strings.TrimRight(scheme, ","))
	}
	return e
}

// start reads the beginning of an error page. A proxy may leave the connection open after it.
func start(response *http.Response) []byte {
	if response.ContentLength == 0 || response.Body == nil {
		return nil
	}
	read := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxTitle))
		read <- text
	}()
	select {
	case text := <-read:
		return text
	case <-time.After(pageTime):
		return nil
	}
}

// pageTime is the time limit for the page of a proxy's refusal.
const pageTime = 2 * time.Second

// isDial reports whether the connection to the proxy itself failed.
func isDial(err error) bool {
	for err != nil {
		e, is := errors.AsType[*net.OpError](err)
		if !is {
			return false
		}
		if e.Op == "dial" {
			return true
		}
		err = e.Err
	}
	return false
}
