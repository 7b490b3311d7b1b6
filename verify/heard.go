package verify

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// heard remembers when each heartbeat came in under our eyes, by this
// computer's clock, so that a host whose clock is wrong is not taken for one
// that is silent. A heartbeat from before the first list is known by the
// host's own clock only.
type heard struct {
	began time.Time // before it nothing could be heard

	mu    sync.Mutex
	beats map[beat]heardAt
	came  map[beat]time.Time // when it could be read first, without a change
}

// beat is whose: a lease's, or a NodeReport's.
type beat struct {
	kind            kind
	namespace, name string
}

// leaseOf is the lease that a node's kubelet renews.
func leaseOf(node string) beat { return beat{leases, corev1.NamespaceNodeLease, node} }

// leaderOf is the lease that the leader of a control plane's part renews.
func leaderOf(component string) beat { return beat{leases, metav1.NamespaceSystem, component} }

func reportOf(node string) beat { return beat{nodeReports, "", node} }

type heardAt struct {
	at time.Time // that it was sent, by this computer's clock
	// ahead is by how much the host's clock is ahead of this computer's, as
	// the last three beats have it that were least delayed on their way.
	ahead  time.Duration
	recent []time.Duration
}

const beatsKept = 3

func newHeard() *heard {
	return &heard{began: time.Now(), beats: map[beat]heardAt{}, came: map[beat]time.Time{}}
}

// take notes a beat that says to be of the time said. It came now, and was sent after from:
// how long it was on its way, only the host's clock tells.
func (h *heard) take(b beat, said, from, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of, before := h.beats[b]
	of.recent = append(of.recent, said.Sub(now))
	if len(of.recent) > beatsKept {
		of.recent = append([]time.Duration(nil), of.recent[1:]...)
	}
	of.ahead = of.recent[0] // a delay makes a clock look behind, never ahead
	for _, d := range of.recent {
		of.ahead = max(of.ahead, d)
	}
	sent := said
	if before {
		sent = said.Add(-of.ahead)
	}
	of.at = later(from, earlier(sent, now))
	h.beats[b] = of
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// last tells when a beat was heard, if it was.
func (h *heard) last(b beat) (heardAt, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, known := h.beats[b]
	return at, known
}

// silence is how long nothing was heard of b, which says to have beaten last at said. A
// NodeReport of which nothing was heard is dated by what the lease tells of its host's clock.
//
// known is false as long as that is no evidence: nothing was heard, and the host's clock is
// not known, or said is yet to come by this computer's. Its host may be dead with a clock
// that was ahead. The silence is then since its object could be read.
func (v view) silence(b beat, said time.Time) (silent time.Duration, known bool) {
	h, heard := v.heard.last(b)
	beat, dated := v.ours(b, said)
	if !heard && b.kind == nodeReports {
		beat, dated = v.ours(leaseOf(b.name), said)
	}
	switch {
	case heard && beat.After(h.at) && beat.Before(v.now): // it could not be read for a while, and came without an event
		return v.now.Sub(beat), true
	case heard:
		return v.now.Sub(h.at), true
	case beat.After(v.now), !dated && b.kind == nodeReports:
		return v.now.Sub(v.heard.listening(b)), false
	}
	return v.now.Sub(beat), true
}

// listening returns since when b's next beat would have been heard: not before b's object
// could be read.
func (h *heard) listening(b beat) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return later(h.began, h.came[b])
}

// ours is a time that b's host said, by this computer's clock. Where nothing was heard of b
// yet it is the host's word, and false.
func (v view) ours(b beat, said time.Time) (time.Time, bool) {
	h, heard := v.heard.last(b)
	return said.Add(-h.ahead), heard
}

// keptLease is what is kept of a lease.
type keptLease struct {
	objectMeta

	holder  string
	renewed time.Time
	lasts   time.Duration
}

func keepLease(l *coordinationv1.Lease) *keptLease {
	kept := &keptLease{objectMeta: metaOf(l.ObjectMeta)}
	if l.Spec.HolderIdentity != nil {
		kept.holder = *l.Spec.HolderIdentity
	}
	if l.Spec.RenewTime != nil {
		kept.renewed = l.Spec.RenewTime.Time
	}
	if l.Spec.LeaseDurationSeconds != nil {
		kept.lasts = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	}
	return kept
}

// hear notes the heartbeat of an object that has changed under our eyes, after from.
func (h *heard) hear(before, after any, from time.Time) {
	b, said, is := beatOf(after)
	if !is {
		return
	}
	if _, was, is := beatOf(before); !is || !said.Equal(was) {
		h.take(b, said, from, time.Now())
	}
}

// arrive notes an object that can be read, and could not before: nobody knows since when it is so.
func (h *heard) arrive(obj any) {
	if b, _, is := beatOf(obj); is {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.came[b] = time.Now()
	}
}

// beatOf returns whose heartbeat an object has, and of what time it says to be.
func beatOf(obj any) (b beat, said time.Time, is bool) {
	switch o := obj.(type) {
	case *keptLease:
		if o != nil {
			return beat{leases, o.namespace, o.name}, o.renewed, true
		}
	case *keptReport:
		if o != nil {
			return reportOf(o.name), o.report.Heartbeat.Time, true
		}
	}
	return beat{}, time.Time{}, false
}
