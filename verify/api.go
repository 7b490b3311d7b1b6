package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// api is the API server. Types that client-go knows travel as protobuf, which takes a
// fraction of the time and memory of JSON.
type api struct {
	rest      rest.Interface
	dynamic   dynamic.Interface
	transport http.RoundTripper // of both
	// failed gets the error of a request that failed, or of an answer that broke off. Reflectors
	// retry without reporting these errors.
	failed chan error
}

func newAPI(config *rest.Config) (*api, error) {
	a := &api{failed: make(chan error, 1)}
	c := rest.CopyConfig(config)
	c.Timeout = 0 // a watch has no time limit
	if c.QPS == 0 {
		// All watches, one for each kind and namespace, begin together. The API server limits each
		// user (API Priority and Fairness), and reflectors increase their pauses.
		c.QPS, c.Burst = 200, 400
	}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return errorReporter{next, a.failed} })
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("create a client for the API server: %w", err)
	}
	a.transport = client.Transport
	if a.dynamic, err = dynamic.NewForConfigAndClient(c, client); err != nil {
		return nil, fmt.Errorf("create a client for the API server: %w", err)
	}
	c.ContentConfig = rest.ContentConfig{
		ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		NegotiatedSerializer: scheme.Codecs.WithoutConversion(), GroupVersion: &schema.GroupVersion{Version: "v1"},
	}
	if a.rest, err = rest.RESTClientForConfigAndClient(c, client); err != nil {
		return nil, fmt.Errorf("create a client for the API server: %w", err)
	}
	return a, nil
}

// requests lists and watches a resource of a Go type that client-go knows.
func (a *api) requests(r schema.GroupVersionResource, namespace string) cache.ListWatch {
	request := func(o metav1.ListOptions) *rest.Request {
		return a.rest.Get().AbsPath(pathOf(r.GroupVersion())).NamespaceIfScoped(namespace, namespace != "").Resource(r.Resource).
			VersionedParams(&o, scheme.ParameterCodec)
	}
	return cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return request(o).Do(ctx).Get()
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			return request(o).Watch(ctx)
		},
	}
}

// hangUp makes the next request dial again: behind a load balancer, another API server may
// answer. An HTTP/2 connection stays open while it is used, even to a server that is no
// longer ready.
func (a *api) hangUp() { utilnet.CloseIdleConnectionsFor(a.transport) }

// forget drops an earlier error.
func (a *api) forget() {
	select {
	case <-a.failed:
	default:
	}
}

// errorReporter reports requests that fail and answers that break off. The answer of a watch is
// the stream of its events.
type errorReporter struct {
	http.RoundTripper

	failed chan<- error
}

// WrappedRoundTripper lets CloseIdleConnectionsFor find the innermost transport.
func (t errorReporter) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

func (t errorReporter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		t.publish(r, err)
		return response, err
	}
	// With this header client-go retries ten times before it returns an error.
	response.Header.Del("Retry-After")
	response.Body = &body{ReadCloser: response.Body, broke: func(err error) { t.publish(r, err) }}
	return response, nil
}

// publish ignores requests that were canceled here.
func (t errorReporter) publish(r *http.Request, err error) {
	if r.Context().Err() != nil {
		return
	}
	select {
	case t.failed <- err:
	default:
	}
}

// body is the body of an answer. It reports no error after Close.
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
