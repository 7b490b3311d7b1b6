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

// bounds limit how old the last confirmation of a kind may be for the rules that read it.
type bounds struct {
	// down is how long a kind may have no open watch. The API server ends a watch every few
	// minutes, and the next one opens within milliseconds.
	down time.Duration
	// silent is how long an open watch may receive no event and no bookmark.
	silent time.Duration
	// renew is how long a watch may be silent before the kind is listed again. An API server
	// sends a bookmark each minute. It is more than two minutes, because then a reflector resets
	// its backoff.
	renew time.Duration
	// early is how long a first list may take before it is reported.
	early time.Duration
}

func (b *bounds) fill() {
	if *b == (bounds{}) {
		*b = bounds{down: 5 * time.Second, silent: 150 * time.Second, renew: 125 * time.Second, early: 5 * time.Second}
	}
}

// confirmation is the last confirmation of one kind by the API server, in one namespace or in
// all. It lasts for the whole run: a new session restarts it and keeps its counts.
type confirmation struct {
	kind      kind
	namespace string // "" for all

	mu      sync.Mutex
	at      time.Time     // when the API server last confirmed the cache
	open    bool          // a watch is open and has sent its initial events
	closed  time.Time     // when the last watch closed, or when the session began
	gotList time.Time     // when the newest complete list was received
	resumed time.Time     // when a watch opened without a new list
	shut    time.Duration // how long no watch was open before resumed, in total if watches followed each other
	refused bool          // the last list was older than newest and was requested again
	newest  string        // resourceVersion of the newest list, event or bookmark
	listed  string        // resourceVersion of the newest complete list; "": it is in the cache
	reason  error         // error of the newest request; nil: it succeeded
	failing chan struct{} // closed at the first failure of a session
	lost    func(error)   // ends the session if its credentials are rejected
	opened  int           // watches
	errors  int           // requests that failed, and answers that broke off
	back    int           // how often resourceVersion went back
	gap     gap           // the newest gap
}

// gap is a time in which nothing of a kind was received. An event at its end may be as old as
// its beginning.
type gap struct{ from, to time.Time }

const (
	// gapNoted is longer than the ten seconds between two renewals of a kubelet's Lease. With a
	// shorter time, each renewal would look ten seconds old after a clock was set back.
	gapNoted = 15 * time.Second
	// handledIn is the longest time from an event to the end of its handler.
	handledIn = 5 * time.Second
)

// begin is called before an informer of a new session starts.
func (c *confirmation) begin(lost func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.closed, c.at, c.open, c.refused, c.reason = now, now, false, false, nil
	c.failing, c.lost = make(chan struct{}), lost
}

// failed records why a request failed, or why its answer ended.
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

// knows reports whether err is the last recorded error.
func (c *confirmation) knows(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason != nil && errors.Is(err, c.reason)
}

// confirmed records a complete list, an event or a bookmark of a resourceVersion: the cache shows
// the state at that time.
func (c *confirmation) confirmed(version string, at time.Time) {
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

// sentAfter returns a time after which an event was sent that is handled now.
func (c *confirmation) sentAfter(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.gap.to) > handledIn {
		return now
	}
	return c.gap.from
}

// older reports whether a resourceVersion is older than the newest one. Then the API server
// that answers is behind the previous one, or etcd was restored. Both must be increasing
// numbers (KEP-5504); other versions are never older.
func (c *confirmation) older(version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return isBefore(version, c.newest)
}

func isBefore(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order < 0
}

// hasRefused reports whether the newest list was refused because it was old. The next list may
// come from a server that is not behind. A second old list in a row is accepted.
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

// begun records the resourceVersion of an incomplete list. Even if the rest fails, an older list
// comes from a server that is behind.
func (c *confirmation) begun(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest == "" || isBefore(c.newest, version) {
		c.newest = version
	}
}

// wentBack records that the cluster continues from an older resourceVersion.
func (c *confirmation) wentBack(to string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.back++
	c.newest = to
}

// watching records that a watch opens or ends. An open watch alone confirms nothing: it may end
// before it sends an event.
func (c *confirmation) watching(open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case open && !c.open:
		c.opened++
		c.reason = nil
		if c.gotList.Before(c.closed) {
			now := time.Now()
			if now.Sub(c.resumed) >= handledIn { // otherwise the last watch ended too early to count
				c.shut = 0
			}
			c.shut += now.Sub(c.closed)
			c.resumed = now
		}
	case !open && c.open:
		c.closed = time.Now()
	}
	c.open = open
}

// confirmedAt returns when the API server last confirmed the kind.
func (c *confirmation) confirmedAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// shownUntil returns the time that the cache shows. The events at the end of a gap reach the cache a
// moment after they confirm the kind.
func (c *confirmation) shownUntil(now time.Time) time.Time {
	return earlier(c.confirmedAt(), c.sentAfter(now))
}

// complete records the version of a complete list that is not in the cache yet.
func (c *confirmation) complete(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed, c.gotList = version, time.Now()
}

// doubt returns why the cached objects are not reliable at now, or nil. synced reports whether
// this session received a complete list; cached is the resourceVersion of the cache.
func (c *confirmation) doubt(now time.Time, b bounds, synced bool, cached string) *doubt {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !isBefore(cached, c.listed) && !isBefore(c.newest, cached) {
		c.listed = ""
	}
	d := &doubt{kind: c.kind, namespace: c.namespace, reason: c.reason, since: c.closed}
	switch {
	case !synced:
		d.saw, d.never = "no complete list received", true
		d.early = now.Sub(c.closed) <= b.early && (c.reason == nil || apierrors.IsTooManyRequests(c.reason))
	case !c.open && now.Sub(c.closed) > b.down:
		d.saw = "no watch is open"
	case c.shut > b.down && now.Sub(c.resumed) < handledIn: // the events of the time between are on their way
		d.saw, d.since = "its watch has just opened again", c.resumed
	case c.listed != "" && now.Sub(c.closed) > b.down:
		d.saw = "its newest list is not in the cache"
	case now.Sub(c.at) > b.silent:
		d.saw, d.since = "its watch received nothing", c.at
	default:
		return nil
	}
	return d
}
