package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ErrStalled means that a server sent nothing for a time, in the middle of a body.
var ErrStalled = errors.New("the server stopped sending")

// Unstalled ends a read of a response body that gets no byte for limit. A time limit for the whole body
// would also end a slow transfer. The time between two reads does not count.
func Unstalled(t http.RoundTripper, limit time.Duration) http.RoundTripper {
	return unstalled{t, limit}
}

type unstalled struct {
	next  http.RoundTripper
	limit time.Duration
}

// WrappedRoundTripper is like that of guard.
func (u unstalled) WrappedRoundTripper() http.RoundTripper { return u.next }

func (u unstalled) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	response, err := u.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	response.Body = watchedBody{response.Body, ctx, cancel, u.limit}
	return response, nil
}

// watchedBody is a body whose reads have a time limit.
type watchedBody struct {
	io.ReadCloser

	ctx    context.Context //nolint:containedctx // that of the request, which has no other place
	cancel context.CancelCauseFunc
	limit  time.Duration
}

func (b watchedBody) Read(p []byte) (int, error) {
	alarm := time.AfterFunc(b.limit, func() { b.cancel(ErrStalled) })
	defer alarm.Stop()
	n, err := b.ReadCloser.Read(p)
	if err != nil && errors.Is(context.Cause(b.ctx), ErrStalled) {
		err = fmt.Errorf("%w for %s", ErrStalled, b.limit)
	}
	return n, err
}

func (b watchedBody) Close() error {
	b.cancel(nil)
	return b.ReadCloser.Close()
}
