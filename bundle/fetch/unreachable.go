package fetch

import (
	"errors"
	"net"
	"net/url"

	"airgap.dev/airgap/internal/httpclient"
)

// Unreachable is a server, or a proxy, that this host cannot connect to.
type Unreachable struct {
	Host  string // SCHEME://HOST:PORT of a proxy
	Cause error
}

// UnreachableIn returns the servers of err if it reports only failed connections. It returns nil
// if the error, or a part of a joined error, has another cause.
func UnreachableIn(err error) []Unreachable {
	switch e := err.(type) { //nolint:errorlint // it walks through the tree
	case *url.Error:
		if proxy, is := errors.AsType[*httpclient.ProxyError](e.Err); is {
			return unreachableBy(proxy, e.URL)
		}
		if !failedToConnect(e.Err) {
			return nil
		}
		return []Unreachable{{hostIn(e.URL), e.Err}}
	case interface{ Unwrap() []error }:
		var all []Unreachable
		for _, part := range e.Unwrap() {
			some := UnreachableIn(part)
			if some == nil {
				return nil
			}
			all = append(all, some...)
		}
		return all
	case interface{ Unwrap() error }:
		return UnreachableIn(e.Unwrap())
	}
	// A list of go-containerregistry supports only As.
	if e, is := errors.AsType[*url.Error](err); is {
		return UnreachableIn(e)
	}
	return nil
}

// unreachableBy returns the proxy if it fails for all servers, else the server. It returns nil for a proxy that
// no setting names.
func unreachableBy(proxy *httpclient.ProxyError, url string) []Unreachable {
	switch {
	case proxy.Proxy == "":
		return nil
	case proxy.Itself():
		return []Unreachable{{proxy.Proxy, proxy}}
	}
	return []Unreachable{{hostIn(url), proxy}}
}

// failedToConnect reports whether a name did not resolve, or a connection to the server or its
// proxy failed.
func failedToConnect(err error) bool {
	if _, is := errors.AsType[*net.DNSError](err); is {
		return true
	}
	e, is := errors.AsType[*net.OpError](err)
	return is && (e.Op == "dial" || e.Op == "proxyconnect")
}

func hostIn(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return Presentable(text)
	}
	return u.Host
}
