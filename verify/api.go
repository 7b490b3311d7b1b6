package verify

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// api is the API server: for what client-go has Go types for, in protobuf,
// which takes a fraction of JSON's time and memory; and for the rest.
type api struct {
	typed   kubernetes.Interface
	dynamic dynamic.Interface
	// failed holds a value when a request did not get through. Reflectors that
	// are refused say so to nobody.
	failed chan struct{}
}

func newAPI(config *rest.Config) (*api, error) {
	a := &api{failed: make(chan struct{}, 1)}
	c := rest.CopyConfig(config)
	c.Timeout = 0 // watches last
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return attentive{next, a.failed} })
	var err error
	if a.dynamic, err = dynamic.NewForConfig(c); err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	c.ContentConfig = rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"}
	if a.typed, err = kubernetes.NewForConfig(c); err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	return a, nil
}

// attentive tells of requests that did not get through.
type attentive struct {
	http.RoundTripper

	failed chan<- struct{}
}

func (t attentive) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil && r.Context().Err() == nil {
		select {
		case t.failed <- struct{}{}:
		default:
		}
	}
	return response, err
}
