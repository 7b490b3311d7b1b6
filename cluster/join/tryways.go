package join

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// retry says how long a connection that fails is tried again.
type retry struct{ pause, total time.Duration }

// usualRetry is longer than the API server takes to report a dead node as not Ready (about 50 s), and longer
// than the restart of a program.
func usualRetry() retry { return retry{pause: 2 * time.Second, total: time.Minute} }

const (
	// wayAttempts is the smallest number of attempts: a packet gets lost, a load balancer follows its health checks.
	wayAttempts = 3
	// silentAttempts of wayTimeout have six SYN packets in 10 s: each sends them after 0, 1 and 3 s.
	silentAttempts = 2
)

// lostWay is a connection that fails each time.
type lostWay struct {
	way way
	err error
}

func (l lostWay) String() string {
	return fmt.Sprintf("%s: %v (owner: %s)", l.way, l.err, l.way.owner(l.err))
}

// trial tries connections in parallel.
type trial struct {
	free chan struct{}

	mu    sync.Mutex
	alive map[string]way // by host: a way that answered
}

// tryAll returns the connections that fail, in their order. Only a failure that repeats counts. It calls waits
// at the first failure.
func (r retry) tryAll(ctx context.Context, ways []way, waits func(lostWay)) []lostWay {
	t := &trial{free: make(chan struct{}, atOnce), alive: map[string]way{}}
	errs := make([]error, len(ways))
	until := time.Now().Add(r.total)
	var first sync.Once
	var all sync.WaitGroup
	for i, w := range ways {
		all.Go(func() {
			for attempt := 1; ; attempt++ {
				errs[i] = t.once(ctx, w)
				if errs[i] == nil || attempt >= wayAttempts && time.Now().Add(r.pause).After(until) || t.final(ctx, w, errs[i], attempt) {
					return
				}
				first.Do(func() { waits(lostWay{w, errs[i]}) })
				select {
				case <-ctx.Done():
					return
				case <-time.After(r.after(errs[i])):
				}
			}
		})
	}
	all.Wait()
	var lost []lostWay
	for i, w := range ways {
		if errs[i] != nil {
			lost = append(lost, lostWay{w, errs[i]})
		}
	}
	return lost
}

// after is the pause after a failure. One without an answer took long already.
func (r retry) after(err error) time.Duration {
	if errors.Is(err, errNoAnswer) {
		return 0
	}
	return r.pause
}

func (t *trial) once(ctx context.Context, w way) error {
	select {
	case t.free <- struct{}{}:
		defer func() { <-t.free }()
	case <-ctx.Done():
		return ctx.Err()
	}
	err := w.once(ctx)
	if err == nil && w.protocol == "tcp" { // nothing answers by UDP
		t.mu.Lock()
		defer t.mu.Unlock()
		t.alive[w.host] = w
	}
	return err
}

// final reports whether the failure does not end by itself: a packet filter closes the port, or the certificate
// is another server's. A program that restarts refuses connections, and a node that is down answers on no port.
func (t *trial) final(ctx context.Context, w way, err error, attempt int) bool {
	_, other := errors.AsType[*certificateError](err)
	switch {
	case err == errNoAnswer: //nolint:errorlint // an established connection without an answer can be a busy program
		return attempt >= silentAttempts && t.answers(ctx, w.host)
	case attempt < wayAttempts:
		return false
	case errors.Is(err, syscall.EPERM), other:
		return true
	case errors.Is(err, syscall.EHOSTUNREACH):
		return t.answers(ctx, w.host)
	}
	return false
}

// answers reports whether the host still answers on a port that has answered before.
func (t *trial) answers(ctx context.Context, host string) bool {
	t.mu.Lock()
	w, known := t.alive[host]
	t.mu.Unlock()
	return known && t.once(ctx, w) == nil
}
