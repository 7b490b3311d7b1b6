package fetch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"airgap.dev/airgap/internal/httpclient"
)

// demand is the longest Retry-After in the answers to the requests of one attempt. Its key in a context gets it past
// the libraries between retry and the connection.
type demand struct{ pause atomic.Int64 }

type demandKey struct{}

func demanding(ctx context.Context) (context.Context, *demand) {
	d := &demand{}
	return context.WithValue(ctx, demandKey{}, d), d
}

// heeds notes Retry-After of 429 and 503.
type heeds struct{ next http.RoundTripper }

func (h heeds) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := h.next.RoundTrip(r)
	if err != nil {
		return response, err
	}
	if d, is := r.Context().Value(demandKey{}).(*demand); is {
		if pause := httpclient.RetryAfter(response, time.Now()); int64(pause) > d.pause.Load() {
			d.pause.Store(int64(pause))
		}
	}
	return response, nil
}

// jitter lengthens a pause by up to a quarter, so that the workers do not return together.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d + time.Duration(rand.Int64N(int64(d)/4+1)) //nolint:gosec // no secret
}

// demandError ends the attempts, because the server demands a longer pause than sources.timeouts.retryAfter.
type demandError struct {
	pause, most time.Duration
	err         error
}

func (e *demandError) Error() string {
	return fmt.Sprintf("%v; the server demands a pause of %s (Retry-After): run the same command again after it, or set sources.timeouts.retryAfter, which is %s",
		e.err, e.pause.Round(time.Second), e.most)
}

func (e *demandError) Unwrap() error { return e.err }
