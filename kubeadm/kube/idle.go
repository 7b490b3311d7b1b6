package kube

import (
	"net/http"
	"time"
)

// idle is how long a connection to an API server stays open without a request. client-go does not share the transport of
// a configuration with its own Proxy, so each client has connections. A command makes several clients for each host that
// joins, and with client-go's 90 s they would be hundreds of connections.
const idle = 3 * time.Second

// CloseIdle makes a transport of client-go close its idle connections soon. It must be the first wrapper of a
// configuration with its own Proxy: the transport of another one is shared.
func CloseIdle(next http.RoundTripper) http.RoundTripper {
	if t, is := next.(*http.Transport); is {
		t.IdleConnTimeout = idle
	}
	return next
}
