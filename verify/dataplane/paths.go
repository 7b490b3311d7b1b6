package dataplane

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// pathsPerRound is the number of paths that a round measures in turn, and of those that it
	// measures again. One path takes about 13 ms of CPU without its burst, of both pods together.
	pathsPerRound = 8
	// maxLong is the number of long connections that a pod opens, to the next nodes in the list. So
	// each pod answers as many.
	maxLong = 32
	// longTurn is the time after which a pod in a larger cluster connects to the next ones in the list. A
	// connection has all idle times in less time. All pods change at the same time, by their clocks.
	longTurn   = 6 * time.Hour
	latencyLog = time.Hour
	// maxUnmeasured is the number of measurements without a result after which a pod forgets a path:
	// its failures may no longer exist. The calls of the round report an outage.
	maxUnmeasured = 2
)

// paths measures the paths to peers, and keeps long connections to some of them.
type paths struct {
	port   uint16 // of the peers
	self   string // node
	etcd   Etcd
	times  longTimes
	say    func(string)
	next   int // index in the ring of peers
	retry  int // index in the ring of peers with a failure
	rounds int
	said   time.Time
	mu     sync.Mutex
	states map[string]*pathState // by node
	long   map[string]*longConn  // by node
	broken map[string]*longConn  // those of earlier turns that broke, by node
	clock  func() time.Time
}

func newPaths(say func(string)) *paths {
	return &paths{port: PathPort, times: usualTimes(), say: say, states: map[string]*pathState{}, long: map[string]*longConn{}, broken: map[string]*longConn{}, clock: time.Now}
}

// round measures the paths of this round, and uses the long connections. tried has the failures of
// the peers in this round. nil measures nothing.
func (m *paths) round(ctx context.Context, self string, peers []peer, tried map[string][]Failure, progress func()) {
	if m == nil {
		return
	}
	m.rounds++
	m.forget(self, peers)
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for _, other := range m.turn(peers, tried) {
		group.Go(func() error {
			defer progress()
			m.measure(ctx, other)
			return nil
		})
	}
	for _, l := range m.long {
		group.Go(func() error {
			defer progress()
			l.round(ctx, m.times)
			return nil
		})
	}
	_ = group.Wait() // faults are failures, not errors
	m.log()
}

func (m *paths) measure(ctx context.Context, other peer) {
	address := m.at(other)
	m.mu.Lock()
	s := m.states[other.node]
	if s != nil && s.address != address { // another pod
		delete(m.states, other.node)
		s = nil
	}
	m.mu.Unlock()
	if s == nil {
		s = &pathState{address: address}
	}
	s.limit = m.etcd.limit(m.self, other.node)
	r, ok := measurePath(ctx, address, *s)
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case ok:
		s.unmeasured = 0
		s.take(other.node, r, m.rounds)
		m.states[other.node] = s
	case s.unmeasured+1 < maxUnmeasured:
		s.unmeasured++
	default:
		delete(m.states, other.node)
	}
}

func (m *paths) at(other peer) netip.AddrPort {
	return netip.AddrPortFrom(other.address.Addr(), m.port)
}

// forget drops the results of peers that no longer exist, and chooses the long connections.
func (m *paths) forget(self string, peers []peer) {
	maps.DeleteFunc(m.states, func(node string, _ *pathState) bool {
		return !slices.ContainsFunc(peers, func(o peer) bool { return o.node == node })
	})
	chosen := map[string]netip.AddrPort{}
	start, _ := slices.BinarySearchFunc(peers, self, func(o peer, self string) int { return cmp.Compare(o.node, self) })
	if len(peers) > maxLong {
		start += int(m.clock().Unix()/int64(longTurn.Seconds())%int64(len(peers))) * maxLong
	}
	for i := range min(maxLong, len(peers)) {
		other := peers[(start+i)%len(peers)]
		chosen[other.node] = m.at(other)
	}
	maps.DeleteFunc(m.long, func(node string, l *longConn) bool {
		if chosen[node].IsValid() {
			return false
		}
		l.drop()
		l.ended = "" // a later process is no reason
		m.broken[node] = l
		return true
	})
	maps.DeleteFunc(m.broken, func(node string, l *longConn) bool {
		return len(l.recent(m.times)) == 0 || !slices.ContainsFunc(peers, func(o peer) bool { return o.node == node })
	})
	for node, address := range chosen {
		switch l := m.long[node]; {
		case l == nil && m.broken[node] != nil:
			m.long[node] = m.broken[node]
			m.long[node].address = address
			delete(m.broken, node)
		case l == nil:
			m.long[node] = &longConn{address: address}
		case l.address != address: // another pod
			l.drop()
			l.address, l.ended = address, ""
		}
	}
}

// turn returns the next peers in the ring, and some of those with a failure.
func (m *paths) turn(peers []peer, tried map[string][]Failure) (now []peer) {
	for range min(pathsPerRound, len(peers)) {
		m.next = (m.next + 1) % len(peers)
		now = append(now, peers[m.next])
	}
	return append(now, m.again(peers, tried, now)...)
}

// again returns peers with a failure of the path or of a call that are not in now, in turn. Those
// with an unconfirmed failure are first, so that their next measurement is in one of the next rounds.
func (m *paths) again(peers []peer, tried map[string][]Failure, now []peer) []peer {
	var unconfirmed, others []peer
	for i := range peers {
		other := peers[(m.retry+i)%len(peers)]
		s := m.states[other.node]
		switch {
		case slices.Contains(now, other):
		case s != nil && len(s.last) > len(s.failures):
			unconfirmed = append(unconfirmed, other)
		case s != nil && len(s.last) > 0, len(tried[other.node]) > 0:
			others = append(others, other)
		}
	}
	all := slices.Concat(unconfirmed, others)
	all = all[:min(pathsPerRound, len(all))]
	if n := len(all); n > 0 {
		m.retry = slices.Index(peers, all[n-1]) + 1
	}
	return all
}

// explained returns the failures of a peer's calls without those that lost flows explain.
func (m *paths) explained(node string, found []Failure) []Failure {
	if m == nil || m.states[node] == nil || !slices.ContainsFunc(m.states[node].failures, Failure.ofFlows) {
		return found
	}
	return slices.DeleteFunc(slices.Clone(found), func(f Failure) bool { return f.Saw == noReply })
}

// failures returns those of all paths and long connections.
func (m *paths) failures() (all []Failure) {
	if m == nil {
		return nil
	}
	for _, s := range m.states {
		all = append(all, s.failures...)
	}
	for _, of := range []map[string]*longConn{m.long, m.broken} {
		for node, l := range of {
			all = append(all, l.failures(node, m.times)...)
		}
	}
	return all
}

// log logs the slowest path once per hour.
func (m *paths) log() {
	if len(m.states) == 0 || time.Since(m.said) < latencyLog {
		return
	}
	m.said = time.Now()
	slowest := slices.MaxFunc(slices.Sorted(maps.Keys(m.states)), func(a, b string) int {
		return cmp.Compare(m.states[a].median, m.states[b].median)
	})
	s := m.states[slowest]
	m.say(fmt.Sprintf("round trips to %d nodes: the slowest are those to %s, median %s, p99 %s",
		len(m.states), slowest, s.median.Round(time.Microsecond), s.p99.Round(time.Microsecond)))
}
