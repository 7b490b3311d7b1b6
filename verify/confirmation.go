package verify

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// bounds are how old the API server's last word about a kind may be for rules that read it.
type bounds struct {
	// down is how long a kind may have no open watch. A watch ends every few minutes and
	// the next one is open within milliseconds.
	down time.Duration
	// silent is how long an open watch may bring nothing: no event and no bookmark.
	silent time.Duration
	// renew is how long it may be silent before the kind is listed again. An API server
	// sends a bookmark each minute, so a healthy watch is not. It is more than two minutes,
	// after which a reflector forgets how often it had to wait.
	renew time.Duration
	// early is how long a first list may be due before that is news.
	early time.Duration
}

func (b *bounds) fill() {
	if *b == (bounds{}) {
		*b = bounds{down: 5 * time.Second, silent: 150 * time.Second, renew: 125 * time.Second, early: 5 * time.Second}
	}
}

// confirmation is what the API server last said about one kind, in one namespace or in
// all. It lives as long as the run: a session begins it again and keeps its counts.
type confirmation struct {
	kind      kind
	namespace string // "" for all

	mu      sync.Mutex
	at      time.Time     // when the API server last confirmed what is cached
	open    bool          // a watch is open, and past its initial events
	closed  time.Time     // when there was one last; else when the session began
	refused bool          // the newest list was older, and is asked for again
	newest  string        // resourceVersion of the newest list, event or bookmark
	listed  string        // that of the newest complete list; "": the cache has it
	reason  error         // of the newest request, nil when it succeeded
	failing chan struct{} // closed by the first failure of a session
	lost    func(error)   // ends the session: its credentials are not accepted
	opened  int           // watches
	errors  int           // requests that failed, and answers that broke off
	back    int           // times that resourceVersion went back
	gap     gap           // the newest one
}

// gap is a time in which nothing of a kind came in. What comes at its end may be as old as
// its beginning.
type gap struct{ from, to time.Time }

const (
	// gapNoted is longer than the ten seconds between two renewals of a kubelet's lease. With
	// less, a clock that was set back would make each renewal look ten seconds old.
	gapNoted = 15 * time.Second
	// handledIn is the longest time from an event to the end of its handler.
	handledIn = 5 * time.Second
)

// begin is called before the informer of a session starts.
func (c *confirmation) begin(lost func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.closed, c.at, c.open, c.refused, c.reason = now, now, false, false, nil
	c.failing, c.lost = make(chan struct{}), lost
}

// failed notes why a request did not succeed, or why its answer ended.
func (c *confirmation) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors++
	select {
	case <-c.failing:
	default:
		close(c.failing)
	}
	c.refused, c.reason = false, err
	if apierrors.IsUnauthorized(err) {
		c.lost(fmt.Errorf("list and watch %s: %w", c.kind, err))
	}
}

// knows tells whether a failure is the one that was noted last.
func (c *confirmation) knows(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason != nil && errors.Is(err, c.reason)
}

// heard notes a complete list, an event or a bookmark of a resourceVersion: what is cached
// is what was so at a time.
func (c *confirmation) heard(version string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.at) > gapNoted {
		if now.Sub(c.gap.to) > handledIn {
			c.gap.from = c.at
		}
		c.gap.to = now
	}
	c.at = later(c.at, at)
	c.reason, c.refused, c.newest = nil, false, cmp.Or(version, c.newest)
}

// sentAfter is what an event that is handled now is younger than.
func (c *confirmation) sentAfter(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.gap.to) > handledIn {
		return now
	}
	return c.gap.from
}

// older tells whether a resourceVersion is from before the newest one: the API server
// that answers is behind the one that answered before, or etcd was restored. Both are
// numbers that grow (KEP-5504); others are never older.
func (c *confirmation) older(version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return isBefore(version, c.newest)
}

func isBefore(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order < 0
}

// hasRefused tells whether the newest answer was a list that was refused: the first of two
// in a row that are older than what was known, since the next one may be of a server that is
// not behind. The second one is taken for the truth.
func (c *confirmation) hasRefused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

func (c *confirmation) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = true
}

// begun notes a resourceVersion of a list that is not complete yet: even where the rest fails, a
// list that is older comes from a server that is behind.
func (c *confirmation) begun(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest == "" || isBefore(c.newest, version) {
		c.newest = version
	}
}

// wentBack notes that the cluster continues from an older resourceVersion.
func (c *confirmation) wentBack(to string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.back++
	c.newest = to
}

// watching notes that a watch opens or ends. That one opens confirms nothing: it may end
// before it brings what has happened.
func (c *confirmation) watching(open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case open && !c.open:
		c.opened++
		c.reason = nil
	case !open && c.open:
		c.closed = time.Now()
	}
	c.open = open
}

// age is how long ago the API server confirmed the kind.
func (c *confirmation) age() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.at)
}

// complete notes that the version is that of a list, which is on its way into the cache.
func (c *confirmation) complete(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed = version
}

// doubt says why what is cached of the kind is not to be relied on at now, "" when it is.
// synced says that there has been a complete list in this session, cached is the version
// that the cache has.
func (c *confirmation) doubt(now time.Time, b bounds, synced bool, cached string) *doubt {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !isBefore(cached, c.listed) && !isBefore(c.newest, cached) {
		c.listed = ""
	}
	d := &doubt{kind: c.kind, namespace: c.namespace, reason: c.reason, since: c.closed}
	switch {
	case !synced:
		d.saw, d.never = "no complete list yet", true
		d.early = now.Sub(c.closed) <= b.early && (c.reason == nil || apierrors.IsTooManyRequests(c.reason))
	case !c.open && now.Sub(c.closed) > b.down:
		d.saw = "no watch is open"
	case c.listed != "" && now.Sub(c.closed) > b.down:
		d.saw = "its newest list is not read yet"
	case now.Sub(c.at) > b.silent:
		d.saw, d.since = "its watch is silent", c.at
	default:
		return nil
	}
	return d
}
