package existing

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// TestPushHeedsRetryAfter: a push waits as long as a busy registry demands, and Ctrl-C ends the wait.
func TestPushHeedsRetryAfter(t *testing.T) {
	f := bundletest.New(t)
	b := newSiteRegistry(t, "/airgap")
	var mu sync.Mutex
	refused := map[string]time.Time{}
	pause, seconds := 2*time.Second, "2"
	b.before = func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		what := cmp.Or(r.URL.Query().Get("digest"), r.URL.Path) // each attempt to push a blob has its own path
		at, again := refused[what]
		if r.Method != http.MethodPut || again || len(refused) == 4 {
			if since := time.Since(at); again && since < pause {
				t.Errorf("%s %s came again after %s", r.Method, r.URL.Path, since)
			}
			return true
		}
		refused[what] = time.Now()
		w.Header().Set("Retry-After", seconds)
		w.WriteHeader(http.StatusTooManyRequests)
		return false
	}
	_, err := b.Push(t.Context(), bundle.NewView(f.Open(t)), nil, ui.Discard())
	must(t, err)
	if len(refused) == 0 {
		t.Error("the registry refused nothing")
	}

	other := newSiteRegistry(t, "/airgap")
	ctx, cancel := context.WithCancel(t.Context())
	other.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return true
		}
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusServiceUnavailable)
		time.AfterFunc(100*time.Millisecond, cancel)
		return false
	}
	began := time.Now()
	if _, err := other.Push(ctx, bundle.NewView(f.Open(t)), nil, ui.Discard()); err == nil || time.Since(began) > time.Minute {
		t.Errorf("after the cancellation: %v after %s", err, time.Since(began))
	}
}
