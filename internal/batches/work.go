package batches

import (
	"context"
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
)

// Work changes the workers of a batch at the same time.
type Work struct {
	Hosts []string
	// Alone: one worker at a time until one succeeds. The first one may have failed within the permitted failures, and
	// nothing else shows that the change is good.
	Alone bool
	// Max is how many workers may be unavailable at the same time; 0: there is no limit. Unavailable returns those that
	// are unavailable now, also of the batch.
	Max         int
	Unavailable func(ctx context.Context) ([]string, error)
	// Patience is how long the work waits for unavailable workers of others if it cannot begin with any worker.
	Patience time.Duration
	Say      func(format string, args ...any)
	// May is asked before each worker. Its error ends the work after the workers that have begun.
	May func() error
	Do  func(ctx context.Context, host string) error
	// Failed receives the failure of a worker. Its error ends the work after the workers that have begun.
	Failed func(host string, err error) error
}

// recheck is how often the work looks for workers that are available again.
const recheck = 10 * time.Second

type result struct {
	host string
	err  error
}

// working is one run of Work.
type working struct {
	Work
	waiting []string
	busy    map[string]bool
	ended   chan result
	proved  bool
	stop    error // no other worker begins
}

// Run works on all hosts. It returns after the last of them has ended, with the first error of May, Failed or
// Unavailable.
func (w Work) Run(ctx context.Context) error {
	r := &working{Work: w, waiting: slices.Clone(w.Hosts), busy: map[string]bool{}, ended: make(chan result, len(w.Hosts)), proved: !w.Alone}
	var blocked time.Time // since when no worker can begin
	for {
		others := r.begin(ctx)
		switch {
		case len(r.busy) > 0:
			r.endAll()
			blocked = time.Time{}
			continue
		case r.stop != nil || len(r.waiting) == 0:
			return r.stop
		case blocked.IsZero():
			blocked = time.Now()
			r.Say("%s: wait for %s, unavailable: at most %s may be unavailable at the same time (upgrade.maxUnavailable)",
				hostrange.Join(r.waiting), hostrange.Join(others), ui.Count(r.Max, "worker"))
		case time.Since(blocked) >= r.Patience:
			return r.tooMany(others)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(recheck):
		}
	}
}

// begin begins with all workers that may begin now. It returns the unavailable workers that prevent others.
func (r *working) begin(ctx context.Context) (others []string) {
	for r.stop == nil && len(r.waiting) > 0 && (r.proved || len(r.busy) == 0) {
		i, unavailable := r.next(ctx)
		if r.stop != nil || i < 0 {
			return unavailable
		}
		if r.stop = r.May(); r.stop != nil {
			return nil
		}
		host := r.waiting[i]
		r.waiting = slices.Delete(r.waiting, i, i+1)
		r.busy[host] = true
		go func() { r.ended <- result{host, r.Do(ctx, host)} }()
	}
	return nil
}

// next returns the index of the next worker that may begin, or -1 and the unavailable workers.
func (r *working) next(ctx context.Context) (int, []string) {
	if r.Max == 0 {
		return 0, nil
	}
	unavailable, err := r.Unavailable(ctx)
	if err != nil {
		r.stop = err
		return -1, nil
	}
	for host := range r.busy {
		if !slices.Contains(unavailable, host) {
			unavailable = append(unavailable, host)
		}
	}
	slices.Sort(unavailable)
	for i, host := range r.waiting {
		if len(unavailable) < r.Max || slices.Contains(unavailable, host) && len(unavailable) <= r.Max {
			return i, nil
		}
	}
	return -1, unavailable
}

// endAll waits for a worker that ends. It also takes the others that have ended: a failure among them must be known
// before the next worker begins.
func (r *working) endAll() {
	r.end(<-r.ended)
	for len(r.ended) > 0 {
		r.end(<-r.ended)
	}
}

func (r *working) end(one result) {
	delete(r.busy, one.host)
	if one.err == nil {
		r.proved = true
		return
	}
	if err := r.Failed(one.host, one.err); r.stop == nil {
		r.stop = err
	}
}

func (r *working) tooMany(others []string) error {
	return advice.Add(fmt.Errorf("begin with %s: %s unavailable, and at most %d may be so at the same time (upgrade.maxUnavailable)",
		r.waiting[0], are(others), r.Max),
		"make them ready, uncordon them or remove them, or allow more with --max-unavailable; then run the same command again")
}

func are(hosts []string) string {
	if len(hosts) == 1 {
		return hosts[0] + " is"
	}
	return hostrange.Join(hosts) + " are"
}
