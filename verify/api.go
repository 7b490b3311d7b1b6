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

// api is the API server: for what client-go has Go types for, in protobuf,
// which takes a fraction of JSON's time and memory; and for the rest.
type api struct {
	rest      rest.Interface
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
	if c.QPS == 0 {
		// A watch for each kind and namespace begins at once. The API server bounds what it
		// takes from one user (priority and fairness), and reflectors wait longer and longer.
		c.QPS, c.Burst = 200, 400
	}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return attentive{next, a.failed} })
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	a.transport = client.Transport
	if a.dynamic, err = dynamic.NewForConfigAndClient(c, client); err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	c.ContentConfig = rest.ContentConfig{
		ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		NegotiatedSerializer: scheme.Codecs.WithoutConversion(), GroupVersion: &schema.GroupVersion{Version: "v1"},
	}
	if a.rest, err = rest.RESTClientForConfigAndClient(c, client); err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	return a, nil
}

// requests list and watch a resource that client-go has a Go type for.
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
	// With it client-go would ask again by itself, ten times, before anybody hears of it.
	response.Header.Del("Retry-After")
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
