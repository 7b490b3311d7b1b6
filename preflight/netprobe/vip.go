package netprobe

import (
	"context"
	"crypto/tls"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// VIP is the result of a host's test of the load balancer.
type VIP struct {
	// Hits counts the answers of each control-plane host, by its number.
	Hits map[int]int `json:"hits,omitempty"`
	// Small counts the answers to handshakes with a small first message, which are used after a
	// failure of today's size.
	Small map[int]int `json:"small,omitempty"`
	// Failures counts the connections without an answer of a host, by result. Before the first
	// answer only the last failure counts.
	Failures map[Result]int `json:"failures,omitempty"`
	Said     string         `json:"said,omitempty"` // details of the last failure
	Idle     *Idle          `json:"idle,omitempty"` // nil without a test
	// Own is true if this control-plane host has the address, and answered there.
	Own bool `json:"own,omitempty"`
	// Transfers are the exchanges of data with each control-plane host.
	Transfers []Transfer `json:"transfers,omitempty"`
	// Local is the address on an interface of this host; nil if it has none.
	Local *LocalVIP `json:"local,omitempty"`
	// MAC is of the interface with the host's address, and Owners are the MAC addresses that answer
	// ARP requests for the load balancer's address there.
	MAC    string   `json:"mac,omitempty"`
	Owners []string `json:"owners,omitempty"`
	// IPv6 are the addresses of the endpoint's name in AAAA records, according to this host's resolver.
	IPv6 []netip.Addr `json:"ipv6,omitempty"`

	// Row is the number of last answers that came from the same host: the first ones can come from
	// other hosts, while the health checks find the hosts.
	Row int `json:"row,omitempty"`
}

const (
	vipEvery = 200 * time.Millisecond // on average
	// vipHeld is the number of open connections of a host during its test. A load balancer that
	// selects the host with the fewest connections then selects all of them.
	vipHeld = 2
)

const (
	// vipAnswers is the number of answers of a single host that shows persistence: without it,
	// three hosts get all of them by chance in one of two thousand tests.
	vipAnswers = 8
	// vipLarge is the number of failures of large handshakes that shows their size as the reason.
	vipLarge = 3
)

// listenVIP answers on the load balancer's address if this host has it, because an API server
// listens on all addresses. A program that already listens there is the load balancer.
func (a *agent) listenVIP(ctx context.Context) {
	if a.plan.VIP == "" {
		return
	}
	a.vip = &VIP{Hits: map[int]int{}, Small: map[int]int{}, Failures: map[Result]int{}}
	a.inspectVIP(ctx)
	if a.vip.Local != nil && a.plan.self().ControlPlane {
		a.vip.Own = a.listenAt(ctx, a.vip.Local.Address, apiServer) == nil
	}
}

// vipTest is a running test of the load balancer.
type vipTest struct {
	*agent

	config    *tls.Config
	mu        sync.Mutex
	transfers map[int]*Transfer
	running   map[int]bool
	held      []net.Conn
	since     int // connections since the last failure
	last      int // host of the last answer
	wait      sync.WaitGroup
}

// tryVIP connects to the load balancer until each control-plane host has answered twice and has
// exchanged data, or until the time limit.
func (a *agent) tryVIP(ctx context.Context) {
	if a.plan.VIP == "" {
		return
	}
	config, err := a.identity()
	if err != nil {
		return
	}
	t := &vipTest{agent: a, config: config, transfers: map[int]*Transfer{}, running: map[int]bool{}}
	asking, stop := context.WithCancel(ctx)
	t.wait.Go(func() { a.askOwners(asking) })
	t.connect(ctx)
	stop()
	t.wait.Wait()
	for _, conn := range t.held {
		conn.Close()
	}
	for _, to := range slices.Sorted(maps.Keys(t.transfers)) {
		a.vip.Transfers = append(a.vip.Transfers, *t.transfers[to])
	}
	if len(a.vip.Hits) > 0 && a.plan.Idle > 0 {
		a.vip.Idle = a.tryIdle(ctx, config)
	}
	a.report.mu.Lock()
	defer a.report.mu.Unlock()
	a.report.VIP = a.vip
}

// connect makes one connection at a time. After a handshake without a reply, half of them are small.
func (t *vipTest) connect(ctx context.Context) {
	v, began, configs := t.vip, time.Now(), []*tls.Config{t.config, small(t.config)}
	answered, alternate := false, false
	last := began.Add(t.plan.Patience.Duration())
	for n := 0; ctx.Err() == nil && !t.complete() && (time.Now().Before(last) || t.soon() && time.Since(began) < 2*t.plan.Patience.Duration()); {
		switch {
		case alternate && answered: // at random: a load balancer can alternate, too
			n = rand.N(2) //nolint:gosec // no secret
		case alternate:
			n = 1 - n
		}
		g := t.greetVIP(ctx, configs[n])
		if !answered && (n == 0 || g.conn != nil) { // the health checks have possibly not run before
			clear(v.Failures)
		}
		if g.conn != nil {
			if !answered {
				answered, last = true, time.Now().Add(t.plan.Patience.Duration()/3) // for answers of the other hosts
			}
			[]map[int]int{v.Hits, v.Small}[n][g.from]++
			t.follow(g.from)
			t.use(ctx, g)
		}
		switch {
		case g.result == NoHandshake:
			alternate = true
		case n == 0 && g.conn != nil && v.Failures[NoHandshake] == 0: // the failures were before the health checks
			alternate = false
		}
		t.since++
		if g.result != Answered {
			v.Failures[g.result]++
			v.Said, t.since = g.said, 0
		}
		waits := g.result == OtherCertificate && time.Since(began) < t.plan.Patience.Duration()/3 // for the hosts behind it
		if (g.result == OtherCertificate || g.result == TerminatesTLS) && !waits {
			return
		}
		// Without a random delay, a round-robin load balancer could always select the same host.
		pause(ctx, vipEvery/2+rand.N(vipEvery)) //nolint:gosec // no secret
	}
}

// follow counts the answers of one host in a row.
func (t *vipTest) follow(from int) {
	if from != t.last {
		t.vip.Row = 0
	}
	t.vip.Row, t.last = t.vip.Row+1, from
}

// stuck reports whether the load balancer selects the same host every time.
func (v *VIP) stuck() bool {
	hits, total := v.hits(), 0
	for _, n := range hits {
		total += n
	}
	return (len(hits) == 1 && total >= vipAnswers || v.Row >= vipAnswers && total >= v.Row) && v.failed() < 2
}

// hits counts the answers of each control-plane host to handshakes of each size.
func (v *VIP) hits() map[int]int {
	all := maps.Clone(v.Hits)
	if all == nil {
		all = map[int]int{}
	}
	for host, n := range v.Small {
		all[host] += n
	}
	return all
}

// use exchanges data on the connection if that is still to test for its host. Otherwise it holds the
// connection.
func (t *vipTest) use(ctx context.Context, g greeting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	done := t.transfers[g.from]
	if !t.running[g.from] && !done.settled() {
		if done == nil {
			done = &Transfer{To: g.from}
			t.transfers[g.from] = done
		}
		t.running[g.from] = true
		t.wait.Go(func() {
			r := t.transfer(ctx, g.conn)
			t.mu.Lock()
			defer t.mu.Unlock()
			done.add(r)
			t.running[g.from] = false
		})
		return
	}
	t.held = append(t.held, g.conn)
	if len(t.held) > vipHeld {
		t.held[0].Close()
		t.held = t.held[1:]
	}
}

// complete reports whether every control-plane host has answered twice and exchanged data. A host
// with the address reaches only itself.
func (t *vipTest) complete() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.doubtful() {
		return false
	}
	for i, h := range t.plan.Hosts {
		switch {
		case t.vip.Own && i != t.plan.Self, !h.ControlPlane:
		case t.vip.Hits[i] < 2, !t.transfers[i].settled():
			return false
		}
	}
	return true
}

// doubtful reports whether a failure happened once, and may be repeated.
func (t *vipTest) doubtful() bool {
	return len(t.vip.hits()) > 0 && t.vip.failed() == 1 && t.since < vipAnswers ||
		len(t.vip.Hits) == 0 && len(t.vip.Small) > 0 && !t.vip.needsSmall()
}

// needsSmall reports whether only small handshakes have a reply.
func (v *VIP) needsSmall() bool {
	return len(v.Hits) == 0 && len(v.Small) > 0 && v.Failures[NoHandshake] >= vipLarge
}

// failed is the number of failed connections.
func (v *VIP) failed() (count int) {
	for _, n := range v.Failures {
		count += n
	}
	return count
}

// soon reports whether only a few more answers, or a repeated exchange of data, complete the result.
// On a busy host the time limit can come first.
func (t *vipTest) soon() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.doubtful() {
		return true
	}
	hits := t.vip.hits()
	for to, n := range hits {
		if len(hits) == 1 && n < vipAnswers || !t.transfers[to].settled() {
			return true
		}
	}
	return false
}
