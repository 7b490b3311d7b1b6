package verify

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// heartbeats has the time of each heartbeat that was received, by the clock of this computer. So a
// host with a wrong clock does not look silent. Heartbeats from before the first list are dated
// by the clock of the host.
type heartbeats struct {
	began time.Time // no heartbeat was received before

	mu       sync.Mutex
	beats    map[heartbeat]lastHeartbeat
	readable map[heartbeat]time.Time // when an object could first be read, without a change
}

// heartbeat identifies the object with a heartbeat: a Lease or a NodeReport.
type heartbeat struct {
	kind            kind
	namespace, name string
}

// leaseOf is the Lease that the kubelet of a node renews.
func leaseOf(node string) heartbeat { return heartbeat{leases, corev1.NamespaceNodeLease, node} }

// leaderOf is the Lease that the leader of a control-plane component renews.
func leaderOf(component string) heartbeat {
	return heartbeat{leases, metav1.NamespaceSystem, component}
}

func reportOf(node string) heartbeat { return heartbeat{nodeReports, "", node} }

type lastHeartbeat struct {
	at time.Time // when it was sent, by the clock of this computer
	// ahead is how much the clock of the host is ahead of this computer's: the largest value of
	// the last three heartbeats, which is the least delayed one.
	ahead  time.Duration
	recent []time.Duration
}

const heartbeatsKept = 3

func newHeartbeats() *heartbeats {
	return &heartbeats{began: time.Now(), beats: map[heartbeat]lastHeartbeat{}, readable: map[heartbeat]time.Time{}}
}

// take records a heartbeat dated said by its host. It was sent after from and received at now;
// only the clock of the host shows when.
func (h *heartbeats) take(b heartbeat, said, from, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of, before := h.beats[b]
	of.recent = append(of.recent, said.Sub(now))
	if len(of.recent) > heartbeatsKept {
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

// last returns the last heartbeat, if one was received.
func (h *heartbeats) last(b heartbeat) (lastHeartbeat, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, known := h.beats[b]
	return at, known
}

// lastSent returns when b sent its last heartbeat, which b dates at said. If no heartbeat of a
// NodeReport was received, the Lease of its host shows the offset of the clock.
//
// known is false if that is no evidence: no heartbeat was received, and the clock of the host is
// not known, or said is in the future. The host may be dead, and its clock may have been ahead.
// The time is then when the object could first be read.
func (v view) lastSent(b heartbeat, said time.Time) (at time.Time, known bool) {
	h, received := v.heartbeats.last(b)
	heartbeat, dated := v.localTime(b, said)
	if !received && b.kind == nodeReports {
		heartbeat, dated = v.localTime(leaseOf(b.name), said)
	}
	switch {
	case received && heartbeat.After(h.at) && heartbeat.Before(v.now): // it could not be read for a while, and arrived without an event
		return heartbeat, true
	case received:
		return h.at, true
	case heartbeat.After(v.now), !dated && b.kind == nodeReports:
		return v.heartbeats.listening(b), false
	}
	return heartbeat, true
}

// listening returns since when the next heartbeat of b would be received: not before its object
// could be read.
func (h *heartbeats) listening(b heartbeat) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return later(h.began, h.readable[b])
}

// localTime converts a time of b's host to the clock of this computer. Before the first heartbeat of
// b, it returns the time unchanged, and false.
func (v view) localTime(b heartbeat, said time.Time) (time.Time, bool) {
	h, received := v.heartbeats.last(b)
	return said.Add(-h.ahead), received
}

// keptLease has the used fields of a Lease.
type keptLease struct {
	objectMeta

	holder   string
	renewed  time.Time
	duration time.Duration
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
		kept.duration = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	}
	return kept
}

// observe records the heartbeat of an object that changed. It was sent after from.
func (h *heartbeats) observe(before, after any, from time.Time) {
	b, said, is := heartbeatOf(after)
	if !is {
		return
	}
	if _, was, is := heartbeatOf(before); !is || !said.Equal(was) {
		h.take(b, said, from, time.Now())
	}
}

// markReadable records that an object can be read now. The time of its last change is not known.
func (h *heartbeats) markReadable(obj any) {
	if b, _, is := heartbeatOf(obj); is {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.readable[b] = time.Now()
	}
}

// heartbeatOf returns the object with the heartbeat, and the time that it contains.
func heartbeatOf(obj any) (b heartbeat, said time.Time, is bool) {
	switch o := obj.(type) {
	case *keptLease:
		if o != nil {
			return heartbeat{leases, o.namespace, o.name}, o.renewed, true
		}
	case *keptReport:
		if o != nil {
			return reportOf(o.name), o.report.Heartbeat.Time, true
		}
	}
	return heartbeat{}, time.Time{}, false
}
