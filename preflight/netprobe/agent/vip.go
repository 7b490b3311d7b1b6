package agent

import (
	"context"
	"crypto/tls"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

const (
	vipEvery = 200 * time.Millisecond // on average
	// vipHeld is the number of open connections of a host during its test. A load balancer that
	// selects the host with the fewest connections then selects all of them.
	vipHeld = 2
)

// listenVIP answers on the load balancer's address if this host has it, because an API server
// listens on all addresses. A program that already listens there is the load balancer.
func (a *agent) listenVIP(ctx context.Context) {
	if a.plan.VIP == "" {
		return
	}
	a.vip = &netprobe.VIP{Hits: map[int]int{}, Small: map[int]int{}, Failures: map[netprobe.Result]int{}}
	a.inspectVIP(ctx)
	if a.vip.Local != nil && a.plan.Own().ControlPlane {
		a.vip.Own = a.listenAt(ctx, a.vip.Local.Address, netprobe.APIServer) == nil
	}
}

// vipTest is a running test of the load balancer.
type vipTest struct {
	*agent

	config    *tls.Config
	mu        sync.Mutex
	transfers map[int]*netprobe.Transfer
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
	t := &vipTest{agent: a, config: config, transfers: map[int]*netprobe.Transfer{}, running: map[int]bool{}}
	asking, stop := context.WithCancel(ctx)
	t.wait.Go(func() { t.askOwners(asking) })
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
		a.vip.Idle = t.idle(ctx)
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
		asked := time.Now()
		g := t.greet(ctx, configs[n])
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
		case g.result == netprobe.NoHandshake:
			alternate = true
		case n == 0 && g.conn != nil && v.Failures[netprobe.NoHandshake] == 0: // the failures were before the health checks
			alternate = false
		}
		t.since++
		if g.result != netprobe.Answered {
			v.Failures[g.result]++
			v.Said, t.since = g.said, 0
			t.failsAtBalancer(netprobe.Balanced, g.result, g.failed, asked)
		}
		waits := g.result == netprobe.OtherCertificate && time.Since(began) < t.plan.Patience.Duration()/3 // for the hosts behind it
		if (g.result == netprobe.OtherCertificate || g.result == netprobe.TerminatesTLS) && !waits {
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

// use exchanges data on the connection if that is still to test for its host. Otherwise it holds the
// connection.
func (t *vipTest) use(ctx context.Context, g greeting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	done := t.transfers[g.from]
	if !t.running[g.from] && !done.Settled() {
		if done == nil {
			done = &netprobe.Transfer{To: g.from}
			t.transfers[g.from] = done
		}
		t.running[g.from] = true
		t.wait.Go(func() {
			r := t.transfer(ctx, g.conn)
			t.mu.Lock()
			defer t.mu.Unlock()
			r.addTo(done)
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
		case t.vip.Hits[i] < 2, !t.transfers[i].Settled():
			return false
		}
	}
	return true
}

// doubtful reports whether a failure happened once, and may be repeated.
func (t *vipTest) doubtful() bool {
	return len(t.vip.Answers()) > 0 && t.vip.Failed() == 1 && t.since < netprobe.VIPAnswers ||
		len(t.vip.Hits) == 0 && len(t.vip.Small) > 0 && !t.vip.NeedsSmall()
}

// soon reports whether only a few more answers, or a repeated exchange of data, complete the result.
// On a busy host the time limit can come first.
func (t *vipTest) soon() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.doubtful() {
		return true
	}
	hits := t.vip.Answers()
	for to, n := range hits {
		if len(hits) == 1 && n < netprobe.VIPAnswers || !t.transfers[to].Settled() {
			return true
		}
	}
	return false
}
