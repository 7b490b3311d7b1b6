package manifests

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// retryLimit is how long Apply retries when connections to the API server fail: right after its
	// start it is slow, and a load balancer may still select one that has stopped.
	retryLimit = 2 * time.Minute
	retryPause = time.Second
)

// retried repeats ask while connections to the API server fail. The last error is returned.
func retried(ctx context.Context, ask func() (bool, error)) (bool, error) {
	limit := time.Now().Add(retryLimit)
	for {
		got, err := ask()
		if !Transient(err) || time.Now().After(limit) {
			return got, err
		}
		select {
		case <-ctx.Done():
			return got, err
		case <-time.After(retryPause):
		}
	}
}

// Transient reports whether the API server did not answer, or asks for another try. An untrusted
// certificate or a refused request is an answer.
func Transient(err error) bool {
	return err != nil && (utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err))
}
