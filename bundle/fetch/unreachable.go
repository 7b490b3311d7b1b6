package fetch

import (
	"errors"
	"net"
	"net/url"
)

// Unreachable is a server that this host cannot connect to.
type Unreachable struct {
	Host  string
	Cause error
}

// UnreachableIn returns the servers of err if it reports only failed connections. It returns nil
// if the error, or a part of a joined error, has another cause.
func UnreachableIn(err error) []Unreachable {
	switch e := err.(type) { //nolint:errorlint // it walks through the tree
	case *url.Error:
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
