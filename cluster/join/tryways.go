package join

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// retry says how long a connection that fails is tried again.
type retry struct{ pause, total time.Duration }

// usualRetry is longer than the API server takes to report a dead node as not Ready (about 50 s), and longer
// than the restart of a program.
func usualRetry() retry { return retry{pause: 2 * time.Second, total: time.Minute} }

// wayAttempts is the smallest number of attempts: a packet gets lost, a load balancer follows its health checks.
const wayAttempts = 3

// lostWay is a connection that fails each time.
type lostWay struct {
	way way
	err error
}

func (l lostWay) String() string {
	return fmt.Sprintf("%s: %v (owner: %s)", l.way, l.err, l.way.owner(l.err))
}

// tryAll returns the connections that fail, in their order. Only a failure that repeats counts. It calls waits
// at the first failure.
func (r retry) tryAll(ctx context.Context, ways []way, waits func(lostWay)) []lostWay {
	errs := make([]error, len(ways))
	free := make(chan struct{}, atOnce)
	until := time.Now().Add(r.total)
	var first sync.Once
	var all sync.WaitGroup
	for i, w := range ways {
		all.Go(func() {
			for attempt := 1; ; attempt++ {
				free <- struct{}{}
				errs[i] = w.once(ctx)
				<-free
				if errs[i] == nil || attempt >= wayAttempts && time.Now().Add(r.pause).After(until) {
					return
				}
				first.Do(func() { waits(lostWay{w, errs[i]}) })
				select {
				case <-ctx.Done():
					return
				case <-time.After(r.pause):
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
