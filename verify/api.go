package verify

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// api is the API server: for what client-go has Go types for, in protobuf,
// which takes a fraction of JSON's time and memory; and for the rest.
type api struct {
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	transport http.RoundTripper // of both
	// failed holds why a request did not get through, or why its answer broke
	// off. Reflectors tell nobody: they ask again.
	failed chan error
}

func newAPI(config *rest.Config) (*api, error) {
	a := &api{failed: make(chan error, 1)}
	c := rest.CopyConfig(config)
	c.Timeout = 0 // watches last
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return attentive{next, a.failed} })
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	a.transport = client.Transport
	if a.dynamic, err = dynamic.NewForConfigAndClient(c, client); err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	c.ContentConfig = rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"}
	if a.typed, err = kubernetes.NewForConfigAndClient(c, client); err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	return a, nil
}

// hangUp has the next request dial: behind a balancer, another API server may
// answer. A connection with HTTP/2 lasts as long as somebody uses it, also to a
// server that is not ready any more.
func (a *api) hangUp() { utilnet.CloseIdleConnectionsFor(a.transport) }

// forget drops a failure of before.
func (a *api) forget() {
	select {
	case <-a.failed:
	default:
	}
}

// attentive tells of requests that do not get through, and of answers that break
// off: of a watch, those are all events until then.
type attentive struct {
	http.RoundTripper

	failed chan<- error
}

// WrappedRoundTripper is for CloseIdleConnectionsFor, which closes the innermost
// one's.
func (t attentive) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

func (t attentive) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		t.tell(r, err)
		return response, err
	}
	response.Body = &body{ReadCloser: response.Body, broke: func(err error) { t.tell(r, err) }}
	return response, nil
}

// tell is silent about what we ended ourselves.
func (t attentive) tell(r *http.Request, err error) {
	if r.Context().Err() != nil {
		return
	}
	select {
	case t.failed <- err:
	default:
	}
}

// body is an answer. That it ends because its reader has closed it is no news.
type body struct {
	io.ReadCloser

	broke  func(error)
	closed atomic.Bool
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !b.closed.Load() {
		b.broke(err)
	}
	return n, err
}

func (b *body) Close() error {
	b.closed.Store(true)
	return b.ReadCloser.Close()
}
