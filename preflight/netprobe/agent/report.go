package agent

import (
	"context"
	"slices"
	"sync"

	"airgap.dev/airgap/preflight/netprobe"
)

// record is the report of this host while it measures.
type record struct {
	*netprobe.Report

	mu   sync.Mutex
	seen map[netprobe.Observation]int // index in Observations
	from map[int]int                  // number of Observations by host
}

// tried records a test. A repeated test replaces the first one if that had no answer.
func (r *record) tried(a netprobe.Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.Attempts, func(b netprobe.Attempt) bool {
		return b.To == a.To && b.Kind == a.Kind && b.Port == a.Port && b.Size == a.Size
	})
	switch {
	case i < 0:
		r.Attempts = append(r.Attempts, a)
	case r.Attempts[i].Result != netprobe.Answered:
		r.Attempts[i] = a
	}
}

// withoutReply returns the tests of a host to repeat: those without a reply, all failed ones inside
// the VXLAN, where no router or firewall can reply, and all failed ones of an accepted connection.
func (r *record) withoutReply(to int) []netprobe.Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []netprobe.Attempt
	for _, a := range r.Attempts {
		if a.To == to && (a.Result == netprobe.NoReply || (a.Kind.Inside() || a.Connected()) && a.Result != netprobe.Answered) {
			found = append(found, a)
		}
	}
	return found
}

// maxObservations is far more than the tests of one host give. A host of the plan knows the token,
// and can send any number of different messages.
const maxObservations = 1024

// saw records a received packet, and counts equal ones.
func (r *record) saw(s netprobe.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen, r.from = map[netprobe.Observation]int{}, map[int]int{}
	}
	s.Count = 0
	i, known := r.seen[s]
	switch {
	case known:
		r.Observations[i].Count++
	case r.from[s.From] < maxObservations:
		r.seen[s] = len(r.Observations)
		r.from[s.From]++
		s.Count = 1
		r.Observations = append(r.Observations, s)
	}
}

func (r *record) listenFailed(e netprobe.ListenError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ListenErrors = append(r.ListenErrors, e)
}

// captureEnded records the end of a capture before the end of the measurement: missing packets then mean nothing.
func (r *record) captureEnded(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.listenFailed(netprobe.ListenError{Layer: netprobe.AtInterface, Why: reason(err)})
	}
}

// sorted sorts the report, so that reports of the same network are equal.
func (r *record) sorted() {
	slices.SortFunc(r.Attempts, func(a, b netprobe.Attempt) int {
		return compare(a.To, a.Kind, a.Port, a.Size, b.To, b.Kind, b.Port, b.Size)
	})
	slices.SortFunc(r.Paths, func(a, b netprobe.Path) int { return a.To - b.To })
	slices.SortFunc(r.Observations, func(a, b netprobe.Observation) int {
		return compare(a.From, a.Kind, a.Port, a.Size, b.From, b.Kind, b.Port, b.Size)
	})
}

func compare(host int, kind netprobe.Kind, port, size, host2 int, kind2 netprobe.Kind, port2, size2 int) int {
	order := func(k netprobe.Kind) int { return slices.Index(netprobe.Kinds(), k) }
	for _, d := range []int{host - host2, order(kind) - order(kind2), port - port2, size - size2} {
		if d != 0 {
			return d
		}
	}
	return 0
}
