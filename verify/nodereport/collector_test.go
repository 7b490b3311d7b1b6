package nodereport

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestCollector: a part that fails, hangs or is not known yet does not delay the others. A part
// that hangs is not started twice. The clock is synctest's.
func TestCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		var started atomic.Int32
		part := func(name string, look func(context.Context, *Report) error) Part {
			return Part{name, time.Minute, nil, time.Second, look}
		}
		c := &Collector{
			Base: Report{Program: "v1"},
			Parts: []Part{
				part("proxyMode", func(_ context.Context, r *Report) error { r.ProxyMode = "nftables"; return nil }),
				part("clock", func(_ context.Context, r *Report) error { r.Clock = &Clock{}; return errors.New("no such file") }),
				part("links", func(_ context.Context, r *Report) error {
					started.Add(1)
					<-free
					r.Links = []Link{{Name: "eth0"}}
					return nil
				}),
				part("gpu", func(ctx context.Context, _ *Report) error { <-ctx.Done(); return ctx.Err() }),
			},
		}
		if got := c.Report(); len(got.Unknown) != 4 || got.Unknown[0] != (Unknown{"proxyMode", notCollected}) || got.Program != "v1" {
			t.Errorf("before the first look: %+v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		want := []Unknown{{"clock", "no such file"}, {"links", "no answer within 1s"}, {"gpu", context.DeadlineExceeded.Error()}}
		if got := c.Report(); got.ProxyMode != "nftables" || got.Program != "v1" || got.Clock != nil || !slices.Equal(got.Unknown, want) || started.Load() != 1 {
			t.Errorf("after ten minutes: %+v, the part that hangs started %d times, want 1", got, started.Load())
		}
		close(free)
		time.Sleep(2 * time.Minute)
		if got := c.Report(); len(got.Links) != 1 || started.Load() < 2 {
			t.Errorf("after the part that hung continued: %+v, started %d times", got, started.Load())
		}
		cancel()
		<-done
	})
}

func TestOnce(t *testing.T) {
	c := &Collector{Parts: []Part{
		{"proxyMode", time.Hour, nil, time.Minute, func(_ context.Context, r *Report) error { r.ProxyMode = "nftables"; return nil }},
	}}
	if got := c.Once(t.Context()); got.ProxyMode != "nftables" || len(got.Unknown) > 0 {
		t.Errorf("got %+v", got)
	}
}

// TestRetry: on a host that joins, kube-proxy possibly does not run yet.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := &Collector{Parts: []Part{{"proxyMode", time.Hour, nil, time.Second, func(_ context.Context, r *Report) error {
			if time.Since(began) < 15*time.Second {
				return errors.New("connection refused")
			}
			r.ProxyMode = "nftables"
			return nil
		}}}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		time.Sleep(30 * time.Second)
		if got := c.Report(); got.ProxyMode != "nftables" {
			t.Errorf("half a minute later: %+v", got)
		}
		cancel()
		<-done
	})
}

// TestCollectAfterFileChange: a part with a long interval is collected when one of its files
// changes, appears or is removed.
func TestCollectAfterFileChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var looks atomic.Int64
		c := &Collector{Parts: []Part{{Name: "packages", Every: time.Hour, Limit: time.Minute, Files: []string{file}, Look: func(context.Context, *Report) error {
			looks.Add(1)
			return nil
		}}}}
		go c.Run(ctx)
		for i, change := range []func() error{
			func() error { return nil },
			func() error { return os.WriteFile(file, []byte("a"), 0o600) },
			func() error { return os.WriteFile(file, []byte("ab"), 0o600) },
			func() error { return os.Remove(file) },
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * changeAfter)
			synctest.Wait()
			if n := looks.Load(); n != int64(i)+1 {
				t.Errorf("after change %d: got %d looks, want %d", i, n, i+1)
			}
		}
		time.Sleep(10 * changeAfter)
		synctest.Wait()
		if n := looks.Load(); n != 4 {
			t.Errorf("without a change: got %d looks, want 4", n)
		}
		cancel()
	})
}
